import { Construct } from 'constructs';
import type { ExternalModelProviderManifest } from '../src/api/external-model-provider';
import { Labels } from '../src/labels';
import { addCheck } from './check';
import { KubeExternalModelProvider } from './kube/external-model-provider';
import { routedLabels } from './owned-labels';
import { type RouterAccount, routerAccounts } from './platform/router-accounts';
import { SecretAccess } from './platform/secret-access';
import type { SecretRef } from './secret-ref';
import { stackContext } from './stack-context';

type Spec = ExternalModelProviderManifest['spec'];

export interface ExternalModelProviderProps {
  /** Name of the object. @default the construct's id */
  readonly name?: string;
  /** Protocol that the provider speaks. @default 'OpenAI' */
  readonly type?: NonNullable<Spec['providerType']>;
  /** Root of the provider, https only, such as `https://api.example.com`. */
  readonly baseUrl: string;
  /** Model name at the provider. @default the name that the client asked for */
  readonly model?: string;
  /** Key of a Secret in the same namespace, which must carry `ExternalModelProvider.secretLabels`. @default no credential is sent */
  readonly credential?: SecretRef;
  /** How the credential is sent. @default the protocol's own way */
  readonly scheme?: 'Bearer' | 'APIKey';
  /** Headers of every request to the provider; no credentials. @default none */
  readonly headers?: Readonly<Record<string, string>>;
  /** Accepts any certificate. @default false */
  readonly insecureSkipVerify?: boolean;
  /**
   * ServiceAccounts of the routers that may read the Secret of `credential`, and no other one: for routers that another app installs. None
   * (`[]`) where somebody else grants it.
   *
   * @default those of all routers of this app
   */
  readonly routers?: readonly RouterAccount[];
}

/**
 * L2: a model that somebody else serves. Creates an ExternalModelProvider, which routes name as a target, and with `credential` the right
 * of routers to read that one Secret.
 *
 * @example
 * const cloud = new ExternalModelProvider(models, 'cloud', {
 *   baseUrl: 'https://api.example.com',
 *   model: 'large-v2',
 *   credential: SecretRef.existing('cloud', 'token'),
 * });
 * new ModelRoute(models, 'large').splitTraffic([{ server: qwen.server, weight: 80 }, { provider: cloud, weight: 20 }]);
 */
export class ExternalModelProvider extends Construct {
  /** Labels that the Secret of a provider must carry: routers see no other Secrets. For the template that makes the Secret. */
  static readonly secretLabels: Readonly<Record<string, string>> = { [Labels.providerCredential]: 'true' };

  readonly resource: KubeExternalModelProvider;
  readonly name: string;

  constructor(scope: Construct, id: string, props: ExternalModelProviderProps) {
    super(scope, id);
    this.name = props.name ?? id;
    const { model, credential, scheme, headers } = props;
    if (credential !== undefined) this.grant(credential, props.routers);
    this.resource = new KubeExternalModelProvider(this, 'Resource', {
      metadata: { name: this.name, labels: routedLabels() },
      spec: {
        providerType: props.type ?? 'OpenAI',
        baseURL: props.baseUrl,
        ...(model === undefined ? {} : { model }),
        ...(credential === undefined
          ? {}
          : {
              auth: {
                ...(scheme === undefined ? {} : { scheme }),
                secretRef: { name: credential.name, key: credential.key },
              },
            }),
        ...(headers === undefined ? {} : { headers }),
        insecureSkipVerify: props.insecureSkipVerify ?? false,
      },
    });
  }
  private grant(credential: SecretRef, routers: readonly RouterAccount[] | undefined): void {
    // Kthena's router may read every Secret of the cluster.
    if (routers?.length === 0 || stackContext(this).cluster.kthenaServesRoutes) return;
    const readers = (): readonly RouterAccount[] => routers ?? routerAccounts(this);
    new SecretAccess(this, 'Access', { name: `${this.name}-credential`, secrets: [credential.name], readers });
    addCheck(this, () =>
      readers().length > 0
        ? []
        : [
            {
              code: 'external-model-provider/unread-secret',
              severity: 'warning',
              field: 'credential',
              message: `is in Secret ${credential.name}, which nobody may read: there is no Router in this app`,
              remedy: 'name the routers of the cluster in routers, or say routers: [] where somebody else grants it',
            },
          ],
    );
  }
}
