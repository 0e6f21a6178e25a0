/** How many nodes may mount a claim, as Kubernetes names it. */
export type AccessMode = 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadWriteOncePod';

export interface NewClaimOptions {
  /** Name of the claim. @default `<model>-cache` */
  readonly name?: string;
  /** Class of the volume. @default the cluster's own */
  readonly storageClass?: string;
  /** @default 'ReadWriteMany' where several pods may run, else 'ReadWriteOnce' */
  readonly accessMode?: AccessMode;
  /** Size of the volume, in GiB. @default the weights and adapters with a tenth of room, an error for models that the catalogue does not know */
  readonly sizeGiB?: number;
}

export interface PodVolumeOptions {
  /** Most that it may hold, in GiB. @default as for a new claim */
  readonly sizeGiB?: number;
}

export interface NodeLocalOptions extends PodVolumeOptions {
  /** Class whose volumes lie on a disk of the pod's node. */
  readonly storageClass: string;
}

/** Where the files of a model are kept. */
export type CacheVolume =
  | ({ readonly kind: 'new-claim' } & NewClaimOptions)
  | { readonly kind: 'existing-claim'; readonly claim: string }
  | { readonly kind: 'host-path'; readonly path: string }
  | ({ readonly kind: 'empty-dir' } & PodVolumeOptions)
  | ({ readonly kind: 'node-local' } & NodeLocalOptions);

/** Default folder of a cache on the node. */
const HOST_PATH = '/var/cache/kvasir/models';
/** Where caches of a pod's own are mounted. */
const POD_MOUNT = '/model-cache';
/** Folders of an image that a volume must not hide. */
const TAKEN = /^\/(?:bin|boot|dev|etc|home|lib|lib64|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|models)?$/;

/**
 * A volume that keeps a model's files, so that a pod that starts again does not load them over the network again.
 *
 * @example
 * new ModelBooster(models, 'cached', {
 *   source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   cache: ModelCache.newClaim({ storageClass: 'shared-files' }),
 *   pools: { l40s: { accelerator: Accelerator.L40S_48GB, replicas: 3 } },
 * });
 */
export class ModelCache {
  /** A claim that synth makes, shared by all pods of the model. It is never pruned. */
  static newClaim(options: NewClaimOptions = {}): ModelCache {
    return new ModelCache({ kind: 'new-claim', ...options });
  }

  /** A claim that is already there. */
  static existingClaim(claim: string): ModelCache {
    return new ModelCache({ kind: 'existing-claim', claim });
  }

  /**
   * A folder of each node, shared by its pods, made when it is missing. It belongs to root: pods need `security.runAsImageUser`, or a
   * folder that user 1000 may write.
   *
   * @param path absolute path on the node. @default '/var/cache/kvasir/models'
   * @throws RangeError when `path` is not absolute or is a folder of the system.
   */
  static hostPath(path = HOST_PATH): ModelCache {
    const trimmed = path.replace(/(?<=.)\/+$/, '');
    if (!trimmed.startsWith('/') || trimmed.split('/').includes('..') || TAKEN.test(trimmed))
      throw new RangeError(`ModelCache.hostPath('${path}'): write an absolute path that is no folder of the system`);
    return new ModelCache({ kind: 'host-path', path: trimmed });
  }

  /** A folder that lives as long as the pod, and survives restarts of its containers only. */
  static emptyDir(options: PodVolumeOptions = {}): ModelCache {
    return new ModelCache({ kind: 'empty-dir', ...options });
  }

  /** A volume of the pod's own on a local disk of its node, made and removed with the pod. */
  static nodeLocal(options: NodeLocalOptions): ModelCache {
    return new ModelCache({ kind: 'node-local', ...options });
  }

  private constructor(readonly volume: CacheVolume) {}

  /**
   * Folder in which it is mounted: `/<claim>` and the node's own path as Kthena has them, so that both find each other's files.
   *
   * @param claim name of the claim, for one that synth makes.
   */
  mountPath(claim: string): string {
    const { volume } = this;
    const path = volume.kind === 'new-claim' ? `/${claim}` : volume.kind === 'existing-claim' ? `/${volume.claim}` : undefined;
    if (path !== undefined) return TAKEN.test(path) ? `${POD_MOUNT}${path}` : path;
    return volume.kind === 'host-path' ? volume.path : POD_MOUNT;
  }

  /** Whether all pods of a model share one claim. */
  get isShared(): boolean {
    return this.volume.kind === 'new-claim' || this.volume.kind === 'existing-claim';
  }
}
