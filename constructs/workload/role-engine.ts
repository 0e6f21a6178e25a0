import type { ApiObject } from 'cdk8s';
import type { Construct } from 'constructs';
import type { GangOptions } from '../gang-options';
import type { GroupVariables, Limit, ServingGroupSpec, Workload } from './workload';

/** A serving group as a role of a larger object. */
export interface RoleGroup {
  readonly role: string;
  readonly group: ServingGroupSpec;
}

/** Serving groups that live together in one object. */
export interface RoleSetSpec {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Independent copies of all roles. */
  readonly copies: number;
  /** What must be scheduled together, in each copy. */
  readonly gang: GangOptions | undefined;
  /** Asked for at synth, when all have joined. */
  roles(): readonly RoleGroup[];
}

/** How serving groups become the roles of one object. */
export interface RoleEngine {
  readonly name: 'DisaggregatedSet' | 'ModelServing';
  readonly groupVariables: GroupVariables;
  /** Label of the pods whose value tells the copies apart. */
  readonly copyLabel: string;
  /** What this engine cannot express of `set`; empty when it can. */
  limits(set: RoleSetSpec): readonly Limit[];
  /** Creates the object under `scope` with id `Resource`; its spec is made at synth. */
  create(scope: Construct, set: RoleSetSpec): ApiObject;
  /** Where others find the pods and the scale of one role of `set`, whose object is `resource`. */
  workloadOf(resource: ApiObject, set: RoleSetSpec, role: string, group: ServingGroupSpec): Workload;
}
