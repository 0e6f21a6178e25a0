import { ApiObject, Lazy } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { ownedLabels } from '../owned-labels';
import { READ } from './access';
import type { RouterAccount } from './router-accounts';

export interface SecretAccessProps {
  /** Name of Role and RoleBinding. */
  readonly name: string;
  /** @default the chart's */
  readonly namespace?: string;
  /** Names of the Secrets. @default every one of the namespace */
  readonly secrets?: readonly string[];
  /** Called once per synth, so that routers may still be created. */
  readonly readers: () => readonly RouterAccount[];
}

/** L1: lets routers read Secrets of one namespace: a Role and its RoleBinding. No rule of access can ask for a label. */
export class SecretAccess extends Construct {
  constructor(scope: Construct, id: string, { name, namespace, secrets, readers }: SecretAccessProps) {
    super(scope, id);
    const metadata = { name, labels: ownedLabels(), ...(namespace === undefined ? {} : { namespace }) };
    new k8s.KubeRole(this, 'Role', {
      metadata,
      rules: [
        {
          apiGroups: [''],
          resources: ['secrets'],
          ...(secrets === undefined ? {} : { resourceNames: [...secrets] }),
          verbs: [...READ],
        },
      ],
    });
    const apiGroup = 'rbac.authorization.k8s.io';
    // The typed RoleBinding would look at its subjects now.
    new ApiObject(this, 'RoleBinding', {
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'Role', name },
      subjects: Lazy.any({
        produce: () => readers().map((reader) => ({ kind: 'ServiceAccount', name: reader.name, namespace: reader.namespace })),
      }),
    });
  }
}
