import type { SecretRef } from './secret-ref';

export interface HuggingFaceOptions {
  /** Commit, tag or branch. @default the default branch, which may change under a running fleet */
  readonly revision?: string;
  /** Access token for gated repositories. @default none */
  readonly token?: SecretRef;
}

export interface ClaimOptions {
  /** Hub name of what lies there, such as `Qwen/Qwen3-8B`: by it sizes and times are known. @default unknown */
  readonly shape?: string;
}

/** Where a model's files come from. */
export type ModelOrigin =
  | { readonly kind: 'hub'; readonly repository: string; readonly revision?: string; readonly token?: SecretRef }
  | { readonly kind: 'claim'; readonly claim: string; readonly path: string; readonly shape?: string };

/** Folder in which a claim with models is mounted. */
const CLAIM_MOUNT = '/models';

/** A model and where an engine finds it. */
export class ModelSource {
  /**
   * A repository of the Hugging Face hub. The engine downloads it when a pod starts.
   *
   * @param repository `organization/name`
   * @throws RangeError when `repository` is not of that form.
   */
  static huggingFace(repository: string, options: HuggingFaceOptions = {}): ModelSource {
    if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
      throw new RangeError(`ModelSource.huggingFace('${repository}'): write organization/name`);
    return new ModelSource({ kind: 'hub', repository, ...options });
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

  private constructor(readonly origin: ModelOrigin) {}

  /** What the engine is given as its model: a hub name, or a folder in the pod. */
  get engineArgument(): string {
    if (this.origin.kind === 'hub') return this.origin.repository;
    return this.origin.path === '' ? CLAIM_MOUNT : `${CLAIM_MOUNT}/${this.origin.path}`;
  }

  /** Hub name by which the catalogue knows sizes; undefined when it was not told. */
  get shapeName(): string | undefined {
    return this.origin.kind === 'hub' ? this.origin.repository : this.origin.shape;
  }

  /** Folder in which a claim is mounted; undefined when there is none. */
  get mountPath(): string | undefined {
    return this.origin.kind === 'claim' ? CLAIM_MOUNT : undefined;
  }
}
