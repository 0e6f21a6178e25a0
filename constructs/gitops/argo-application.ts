import { Construct, type IConstruct } from 'constructs';
import { type ArgoIgnoreDifference, KubeArgoApplication } from '../kube/argo-application';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { type ScalerOwnedField, scalerOwnedFields } from './scaler-owned-fields';

/** Where Argo CD finds the folder that synth writes. */
export interface ArgoSource {
  /** URL of the repository, as Argo CD knows it. */
  readonly repoUrl: string;
  /** Path of the folder in the repository: the output folder, or one chart's folder in it. */
  readonly path: string;
  /** Branch, tag or commit. @default 'HEAD' */
  readonly targetRevision?: string;
}

export interface ArgoApplicationProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** The folder that synth writes. */
  readonly source: ArgoSource;
  /** Constructs whose objects lie in that folder. @default everything in the app */
  readonly manages?: readonly IConstruct[];
  /** Cluster to sync to, by its API server's URL or its name in Argo CD. @default the cluster that Argo CD runs in */
  readonly destination?: { readonly server: string } | { readonly name: string };
  /** @default 'default' */
  readonly project?: string;
  /** Whether changes are synced without being asked for; `false` for by hand only. @default all of it, but never to an empty folder */
  readonly automated?: { readonly prune?: boolean; readonly selfHeal?: boolean } | false;
  /** Further options of a sync, such as `CreateNamespace=true`. @default none */
  readonly syncOptions?: readonly string[];
  /** Further fields to leave alone. @default none */
  readonly ignoreDifferences?: readonly ArgoIgnoreDifference[];
}

/** The cluster that Argo CD itself runs in. */
const IN_CLUSTER = 'https://kubernetes.default.svc';

/**
 * L2: one Argo CD Application over the folder that synth writes. Compares by a dry run of the API server, so that defaults are no
 * difference, and leaves every field alone that a scaler of the stack owns: without `RespectIgnoreDifferences` a sync would reset
 * replicas to what Git says. Goes into a chart of the namespace that Argo CD watches.
 *
 * @example
 * new ArgoApplication(new Chart(app, 'argocd', { namespace: 'argocd' }), 'llm-platform', {
 *   source: { repoUrl: 'https://git.example.com/llm-platform.git', path: 'dist/prod', targetRevision: 'main' },
 * });
 */
export class ArgoApplication extends Construct {
  readonly name: string;
  readonly resource: KubeArgoApplication;

  constructor(scope: Construct, id: string, props: ArgoApplicationProps) {
    super(scope, id);
    this.name = objectName(this, props.name ?? id);
    const { source, automated = {} } = props;
    this.resource = new KubeArgoApplication(this, 'Resource', {
      metadata: {
        name: this.name,
        labels: ownedLabels(),
        annotations: { 'argocd.argoproj.io/compare-options': 'ServerSideDiff=true' },
      },
      spec: () => ({
        project: props.project ?? 'default',
        source: {
          repoURL: source.repoUrl,
          targetRevision: source.targetRevision ?? 'HEAD',
          path: source.path,
          directory: { recurse: true },
        },
        destination: props.destination ?? { server: IN_CLUSTER },
        ignoreDifferences: [
          ...scalerOwnedFields(props.manages ?? [this.node.root]).map(toIgnoreDifference),
          ...(props.ignoreDifferences ?? []),
        ],
        syncPolicy: {
          ...(automated === false
            ? {}
            : { automated: { prune: automated.prune ?? true, selfHeal: automated.selfHeal ?? true, allowEmpty: false } }),
          syncOptions: ['ServerSideApply=true', 'RespectIgnoreDifferences=true', ...(props.syncOptions ?? [])],
          retry: { limit: 5, backoff: { duration: '10s', factor: 2, maxDuration: '5m' } },
        },
      }),
    });
  }
}

function toIgnoreDifference({
  group,
  kind,
  namespace,
  name,
  jsonPointer,
  jqPathExpression,
}: ScalerOwnedField): ArgoIgnoreDifference {
  return {
    ...(group === '' ? {} : { group }),
    kind,
    name,
    namespace,
    ...(jqPathExpression === undefined ? { jsonPointers: [jsonPointer!] } : { jqPathExpressions: [jqPathExpression] }),
  };
}
