import type { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import { addCheck } from '../check';
import type { GangOptions } from '../gang-options';
import { objectName } from '../object-name';
import { ownedLabels } from '../owned-labels';
import { stackContext } from '../stack-context';
import { clusterFindings } from './cluster-findings';
import { disaggregatedSetRoles } from './disaggregated-set';
import { limitFindings } from './limit-findings';
import { modelServingRoles } from './model-serving-roles';
import type { RoleEngine, RoleGroup, RoleSetSpec } from './role-engine';
import type { GroupVariables, ServingGroupSpec, Workload } from './workload';

export interface RoleSetProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** Kind of the object. */
  readonly workload: 'DisaggregatedSet' | 'ModelServing';
  /** Independent copies of all roles; pods of one copy work together. @default 1 */
  readonly copies?: number;
  /** Labels of the object. @default none */
  readonly labels?: Readonly<Record<string, string>>;
  /** What must be scheduled together, in each copy. @default each pod alone */
  readonly gang?: GangOptions;
}

/**
 * L2: one object whose roles are serving groups that live together, such as prefill and decode. Groups join it with
 * `new ServingGroup(scope, id, { …, memberOf: { set, role } })`.
 *
 * @example
 * const set = new RoleSet(models, 'pair', { workload: 'DisaggregatedSet', labels: { 'kvasir.dev/model': 'pair' } });
 * for (const role of ['prefill', 'decode'] as const) {
 *   new ServingGroup(models, role, {
 *     source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
 *     engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *     accelerator: Accelerator.L40S_48GB,
 *     pdRole: role,
 *     memberOf: { set, role },
 *   });
 * }
 */
export class RoleSet extends Construct {
  readonly name: string;
  readonly resource: ApiObject;
  readonly copies: number;
  /** Label of the pods whose value tells the copies apart. */
  readonly copyLabel: string;
  readonly gang: GangOptions | undefined;
  private readonly engine: RoleEngine;
  private readonly spec: RoleSetSpec;
  private readonly roles: RoleGroup[] = [];

  constructor(scope: Construct, id: string, props: RoleSetProps) {
    super(scope, id);
    this.name = objectName(this, props.name ?? id);
    this.engine = props.workload === 'DisaggregatedSet' ? disaggregatedSetRoles : modelServingRoles;
    this.copies = props.copies ?? 1;
    this.copyLabel = this.engine.copyLabel;
    this.gang = props.gang;
    this.spec = {
      name: this.name,
      labels: ownedLabels(props.labels),
      copies: this.copies,
      gang: props.gang,
      roles: () => this.roles,
    };
    this.resource = this.engine.create(this, this.spec);
    addCheck(this, () => [
      ...clusterFindings(this.kind, props.gang, stackContext(this).cluster),
      ...limitFindings(this.kind, this.engine.limits(this.spec)),
    ]);
  }

  get kind(): RoleSetProps['workload'] {
    return this.engine.name;
  }

  /** Environment variables by which the pods of a replica find each other. */
  get groupVariables(): GroupVariables {
    return this.engine.groupVariables;
  }

  /** Takes `group` in as `role`; called by `ServingGroup`. The order of joining is the order of the roles. */
  join(role: string, group: ServingGroupSpec): Workload {
    this.roles.push({ role, group });
    return this.engine.workloadOf(this.resource, this.spec, role, group);
  }
}
