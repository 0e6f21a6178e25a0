import { Construct } from 'constructs';
import type { ExternalModelProviderManifest } from '../src/api/external-model-provider';
import { Labels } from '../src/labels';
import { KubeExternalModelProvider } from './kube/external-model-provider';
import { routedLabels } from './owned-labels';
import type { SecretRef } from './secret-ref';

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
}

/**
 * L2: a model that somebody else serves. Creates an ExternalModelProvider; routes name it as a target.
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
}
