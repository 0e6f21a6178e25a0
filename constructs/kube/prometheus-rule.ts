import type { GroupVersionKind } from 'cdk8s';
import type { Construct } from 'constructs';
import { KubeApiObject, type KubeObjectProps } from './kube-object';

/** An alert, or an expression whose value is stored under a name. */
export type PrometheusRuleEntry =
  | {
      readonly alert: string;
      readonly expr: string;
      /** How long the expression must hold, as a Prometheus duration. */
      readonly for: string;
      readonly labels: Readonly<Record<string, string>>;
      readonly annotations: Readonly<Record<string, string>>;
    }
  | { readonly record: string; readonly expr: string; readonly labels?: Readonly<Record<string, string>> };

export interface PrometheusRuleSpec {
  readonly groups: readonly { readonly name: string; readonly rules: readonly PrometheusRuleEntry[] }[];
}

/** L1: one PrometheusRule object, fields as in the API. */
export class KubePrometheusRule extends KubeApiObject<PrometheusRuleSpec> {
  static readonly GVK: GroupVersionKind = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule' };

  constructor(scope: Construct, id: string, props: KubeObjectProps<PrometheusRuleSpec>) {
    super(scope, id, KubePrometheusRule.GVK, props);
  }
}
