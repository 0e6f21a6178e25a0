import type { SecretRef } from './secret-ref';

export interface HubOptions {
  /** Commit, tag or branch. @default the default branch, which may change under a running fleet */
  readonly revision?: string;
  /** Access token for gated repositories. @default none */
  readonly token?: SecretRef;
}

export interface BucketOptions {
  /** Keys of an account that may read the bucket. @default none: anonymous, or the service account's role */
  readonly credentials?: { readonly accessKey: SecretRef; readonly secretKey: SecretRef };
  /** URL of the storage service. @default the provider's own */
  readonly endpoint?: string;
  /** Hub name of what lies there, such as `Qwen/Qwen3-8B`: by it sizes and times are known. @default the last part of the path */
  readonly shape?: string;
}

export interface ClaimOptions {
  /** Hub name of what lies there, such as `Qwen/Qwen3-8B`: by it sizes and times are known. @default unknown */
  readonly shape?: string;
}

export interface FolderOptions {
  /** Hub name of what lies there, such as `Qwen/Qwen3-8B`: by it sizes and times are known. @default unknown */
  readonly shape?: string;
  /** Whether an init container of the pod downloads it, for which a rollout must wait. @default false */
  readonly isFilledByPod?: boolean;
}

/** Where a model's files come from. */
export type ModelOrigin =
  /** A repository of a hub, `hf` Hugging Face or `ms` ModelScope. */
  | {
      readonly kind: 'hub';
      readonly hub: 'hf' | 'ms';
      readonly repository: string;
      readonly revision?: string;
      readonly token?: SecretRef;
    }
  /** A folder of an object store: S3 or Huawei's OBS. */
  | ({ readonly kind: 'bucket'; readonly scheme: 's3' | 'obs'; readonly path: string } & BucketOptions)
  | { readonly kind: 'claim'; readonly claim: string; readonly path: string; readonly shape?: string }
  /** A folder of the pod that something else fills before the engine starts. */
  | { readonly kind: 'folder'; readonly path: string; readonly shape?: string; readonly isFilledByPod: boolean };

/** Folder in which a claim with models is mounted. */
const CLAIM_MOUNT = '/models';

/**
 * A model and where an engine finds it.
 *
 * @example
 * ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' });
 * ModelSource.pvc('weights', 'qwen3-8b', { shape: 'Qwen/Qwen3-8B' });
 */
export class ModelSource {
  /**
   * A repository of the Hugging Face hub. The engine downloads it when a pod starts.
   *
   * @param repository `organization/name`
   * @throws RangeError when `repository` is not of that form.
   */
  static huggingFace(repository: string, options: HubOptions = {}): ModelSource {
    return ModelSource.hub('huggingFace', 'hf', repository, options);
  }

  /**
   * A repository of ModelScope. The engine downloads it when a pod starts.
   *
   * @param repository `organization/name`
   * @throws RangeError when `repository` is not of that form.
   */
  static modelScope(repository: string, options: HubOptions = {}): ModelSource {
    return ModelSource.hub('modelScope', 'ms', repository, options);
  }

  /**
   * A folder of an S3 bucket. Engines do not read it by themselves, so it needs a download into a cache.
   *
   * @param uri `s3://bucket/path`
   * @throws RangeError when `uri` is not of that form.
   */
  static s3(uri: string, options: BucketOptions = {}): ModelSource {
    return ModelSource.bucket('s3', uri, options);
  }

  /**
   * A folder of a bucket of Huawei's object store, as `s3`.
   *
   * @param uri `obs://bucket/path`
   * @throws RangeError when `uri` is not of that form.
   */
  static obs(uri: string, options: BucketOptions = {}): ModelSource {
    return ModelSource.bucket('obs', uri, options);
  }

  /**
   * A folder of a volume claim that already holds the model, mounted read-only. Several replicas need a claim that many nodes may mount.
   *
   * @param path folder in the volume, such as `qwen3-8b`; empty for its root.
   */
  static pvc(claim: string, path = '', options: ClaimOptions = {}): ModelSource {
    if (path.split('/').includes('..'))
      throw new RangeError(`ModelSource.pvc('${claim}', '${path}'): the path must not contain ..`);
    return new ModelSource({ kind: 'claim', claim, path: path.replace(/^\/+|\/+$/g, ''), ...options });
  }

  /**
   * A folder of the pod: part of the image, or of a volume that something else mounts and fills.
   *
   * @param path absolute path.
   * @throws RangeError when it is not absolute.
   */
  static folder(path: string, options: FolderOptions = {}): ModelSource {
    if (!path.startsWith('/')) throw new RangeError(`ModelSource.folder('${path}'): write an absolute path`);
    const { shape, isFilledByPod = false } = options;
    return new ModelSource({ kind: 'folder', path: path.replace(/(?<=.)\/+$/, ''), shape, isFilledByPod });
  }

  private static hub(maker: string, name: 'hf' | 'ms', repository: string, options: HubOptions): ModelSource {
    if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
      throw new RangeError(`ModelSource.${maker}('${repository}'): write organization/name`);
    return new ModelSource({ kind: 'hub', hub: name, repository, ...options });
  }

  private static bucket(scheme: 's3' | 'obs', uri: string, options: BucketOptions): ModelSource {
    const path = new RegExp(`^${scheme}://([^/\\s]+/\\S+?)/*$`).exec(uri)?.[1];
    if (path === undefined || path.split('/').includes('..'))
      throw new RangeError(`ModelSource.${scheme}('${uri}'): write ${scheme}://bucket/path`);
    return new ModelSource({ kind: 'bucket', scheme, path, ...options });
  }

  private constructor(readonly origin: ModelOrigin) {}

  /** What the engine is given as its model: a hub name, a folder in the pod, or a URI. */
  get engineArgument(): string {
    const { origin } = this;
    if (origin.kind === 'hub') return origin.repository;
    if (origin.kind !== 'claim') return this.uri;
    return origin.path === '' ? CLAIM_MOUNT : `${CLAIM_MOUNT}/${origin.path}`;
  }

  /** Where it comes from, in the form that downloaders take: `hf://organization/name`, `s3://bucket/path`, … */
  get uri(): string {
    return uriOf(this.origin);
  }

  /** Hub name by which the catalogue knows sizes; undefined when it was not told. */
  get shapeName(): string | undefined {
    const { origin } = this;
    if (origin.kind === 'hub') return origin.repository;
    return origin.shape ?? (origin.kind === 'bucket' ? origin.path.split('/').at(-1) : undefined);
  }

  /** Folder in which a claim is mounted; undefined when there is none. */
  get mountPath(): string | undefined {
    return this.origin.kind === 'claim' ? CLAIM_MOUNT : undefined;
  }

  /** Environment variable from which an engine takes the hub's access token. */
  get tokenVariable(): 'HF_TOKEN' | 'MODELSCOPE_API_TOKEN' {
    return this.origin.kind === 'hub' && this.origin.hub === 'ms' ? 'MODELSCOPE_API_TOKEN' : 'HF_TOKEN';
  }

  /** Environment variables that have `engine` download from this hub; none for its default. */
  hubVariables(engine: 'vLLM' | 'SGLang'): Readonly<Record<string, string>> {
    if (this.origin.kind !== 'hub' || this.origin.hub === 'hf') return {};
    return engine === 'SGLang' ? { SGLANG_USE_MODELSCOPE: 'true' } : { VLLM_USE_MODELSCOPE: 'True' };
  }
}

function uriOf(origin: ModelOrigin): string {
  switch (origin.kind) {
    case 'hub':
      return `${origin.hub}://${origin.repository}`;
    case 'bucket':
      return `${origin.scheme}://${origin.path}`;
    case 'claim':
      return `pvc://${origin.claim}${origin.path === '' ? '' : `/${origin.path}`}`;
    case 'folder':
      return origin.path;
  }
}
