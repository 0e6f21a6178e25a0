import { createHash } from 'node:crypto';
import { k8s } from 'cdk8s-plus-28';
import { Construct } from 'constructs';
import { derivedModelShape, modelShapeNamed, weightBytes } from '../src/catalog/models';
import type { Finding } from '../src/errors';
import { addCheck } from './check';
import { downloadContainer } from './download-container';
import { DownloadJob } from './download-job';
import { mirroredImage } from './images';
import type { LoraAdapter, PlacedAdapter } from './lora-adapter';
import type { ModelCache } from './model-cache';
import type { ModelDownload } from './model-download';
import { ModelSource } from './model-source';
import { ownedLabels } from './owned-labels';
import { stackContext } from './stack-context';
import type { PodPatch } from './workload/pod-override';
import type { PodSecurityOptions } from './workload/pod-security';

export interface ModelWeightsProps {
  /** Name of the model; a claim is `<name>-cache`. */
  readonly name: string;
  /** Where the model comes from. */
  readonly source: ModelSource;
  /** @default none */
  readonly adapters?: readonly LoraAdapter[];
  /** @default none: engines load into the pod */
  readonly cache?: ModelCache;
  /** Fills the cache before engines start. @default engines download into it by themselves */
  readonly download?: ModelDownload;
  /** Most pods that may run at once. */
  readonly maxPods: number;
}

const VOLUME = 'model-cache';
const GIB = 2 ** 30;
/** Room beside the weights: tokenizer, configuration, a second copy while a revision changes hands. */
const OWN_DOWNLOAD_FACTOR = 1.1;
/** A downloader takes whole repositories, and some hold the weights in two formats. */
const WHOLE_REPOSITORY_FACTOR = 2.2;

/**
 * Where the files of a model and its adapters lie: creates a claim and a download Job where they are asked for, and says what pods need.
 *
 * @example
 * const weights = new ModelWeights(models, 'weights', {
 *   name: 'chat',
 *   source: ModelSource.huggingFace('Qwen/Qwen3-8B', { revision: 'b968826d9c46dd6066d109eabc6255188de91218' }),
 *   cache: ModelCache.newClaim({ storageClass: 'shared-files' }),
 *   maxPods: 2,
 * });
 * const group = new ServingGroup(models, 'chat', {
 *   source: weights.source,
 *   engine: Engine.vllm('0.32.0', { maxModelLen: 32_768 }),
 *   accelerator: Accelerator.L40S_48GB,
 *   replicas: 2,
 * });
 * group.pod.merge(weights.podPatch({}));
 */
export class ModelWeights extends Construct {
  /** What engines are given. */
  readonly source: ModelSource;
  readonly adapters: readonly PlacedAdapter[];
  /** Absent unless the cache is a new claim. */
  readonly claim: k8s.KubePersistentVolumeClaim | undefined;
  /** Absent unless a Job downloads. Workloads that read the files depend on it. */
  readonly job: DownloadJob | undefined;
  private readonly mountPath: string | undefined;

  constructor(
    scope: Construct,
    id: string,
    private readonly props: ModelWeightsProps,
  ) {
    super(scope, id);
    const { source, cache, adapters = [] } = props;
    const claimName = cache?.volume.kind === 'new-claim' ? (cache.volume.name ?? `${props.name}-cache`) : '';
    this.mountPath = cache?.mountPath(claimName);
    this.source = this.placed(source);
    this.adapters = adapters.map(({ name, rank, source: own }) => ({ name, rank, path: this.placed(own).engineArgument }));
    if (cache?.volume.kind === 'new-claim') this.claim = this.createClaim(claimName, cache.volume);
    if (this.downloads.length > 0 && props.download?.by === 'job' && cache?.isShared === true) {
      this.job = new DownloadJob(this, 'Download', {
        name: props.name,
        containers: this.containers({}),
        volumes: [this.volume()],
      });
    }
    addCheck(this, () => [...cacheFindings(props, this.sizeGiB()), ...bucketFindings(props)]);
  }

  /** What the pods of the model get: the volume, where engines keep what they download, and the download itself. */
  podPatch(security: PodSecurityOptions): PodPatch {
    const { download, source } = this.props;
    if (this.mountPath === undefined) return {};
    const inPod = this.downloads.length > 0 && download?.by !== 'job';
    const env = Object.entries(this.cacheVariables(source)).map(([name, value]) => ({ name, value }));
    return {
      volumes: [k8s.toJson_Volume(this.volume())],
      containers: [
        { name: 'engine', volumeMounts: [{ name: VOLUME, mountPath: this.mountPath }], ...(env.length === 0 ? {} : { env }) },
      ],
      ...(inPod ? { initContainers: this.containers(security).map(k8s.toJson_Container) } : {}),
    };
  }

  /** What is downloaded before engines start, with its folder; what lies on a claim or in the image is there already. */
  private get downloads(): readonly { readonly source: ModelSource; readonly folder: string }[] {
    const { source, adapters = [], download } = this.props;
    if (download === undefined || this.mountPath === undefined) return [];
    return [source, ...adapters.map((adapter) => adapter.source)]
      .filter(({ origin }) => origin.kind === 'hub' || origin.kind === 'bucket')
      .map((remote) => ({ source: remote, folder: cacheFolder(this.mountPath!, remote) }));
  }

  /** `source` as engines find it. */
  private placed(source: ModelSource): ModelSource {
    const { origin } = source;
    const { download } = this.props;
    if (download === undefined || this.mountPath === undefined || (origin.kind !== 'hub' && origin.kind !== 'bucket'))
      return source;
    return ModelSource.folder(cacheFolder(this.mountPath, source), {
      shape: source.shapeName,
      isFilledByPod: download.by !== 'job',
    });
  }

  private containers(security: PodSecurityOptions): readonly k8s.Container[] {
    const { download } = this.props;
    const image = mirroredImage(download!.image, stackContext(this).images);
    return this.downloads.map(({ source, folder }, index) =>
      downloadContainer({
        name: index === 0 ? 'model-downloader' : `adapter-downloader-${index}`,
        image,
        source,
        folder,
        env: download!.env ?? {},
        mount: { name: VOLUME, mountPath: this.mountPath! },
        security,
      }),
    );
  }

  /** Engines that download by themselves keep it in the cache. */
  private cacheVariables({ origin }: ModelSource): Readonly<Record<string, string>> {
    if (origin.kind !== 'hub' || this.props.download !== undefined) return {};
    return origin.hub === 'ms'
      ? { MODELSCOPE_CACHE: `${this.mountPath}/modelscope` }
      : { HF_HOME: `${this.mountPath}/huggingface` };
  }

  private volume(): k8s.Volume {
    const { cache, name } = this.props;
    const { volume } = cache!;
    const sizeGiB = this.sizeGiB();
    switch (volume.kind) {
      case 'new-claim':
        return { name: VOLUME, persistentVolumeClaim: { claimName: volume.name ?? `${name}-cache` } };
      case 'existing-claim':
        return { name: VOLUME, persistentVolumeClaim: { claimName: volume.claim } };
      case 'host-path':
        return { name: VOLUME, hostPath: { path: volume.path, type: 'DirectoryOrCreate' } };
      case 'empty-dir':
        return { name: VOLUME, emptyDir: sizeGiB === undefined ? {} : { sizeLimit: gib(sizeGiB) } };
      case 'node-local':
        return {
          name: VOLUME,
          ephemeral: {
            volumeClaimTemplate: {
              spec: {
                accessModes: ['ReadWriteOnce'],
                storageClassName: volume.storageClass,
                resources: { requests: { storage: gib(sizeGiB ?? 1) } },
              },
            },
          },
        };
    }
  }

  private createClaim(claimName: string, volume: ModelCache['volume'] & { kind: 'new-claim' }): k8s.KubePersistentVolumeClaim {
    const mode = volume.accessMode ?? (this.props.maxPods > 1 ? 'ReadWriteMany' : 'ReadWriteOnce');
    return new k8s.KubePersistentVolumeClaim(this, 'Claim', {
      metadata: { name: claimName, labels: ownedLabels() },
      spec: {
        accessModes: [mode],
        ...(volume.storageClass === undefined ? {} : { storageClassName: volume.storageClass }),
        // Without a size synth fails, see `cache/no-size`.
        resources: { requests: { storage: gib(this.sizeGiB() ?? 1) } },
      },
    });
  }

  /** Size of the cache: what was asked for, else by the weights; undefined when the catalogue does not know them. */
  private sizeGiB(): number | undefined {
    const { source, cache, adapters = [], download } = this.props;
    const { volume } = cache ?? {};
    if (volume !== undefined && 'sizeGiB' in volume && volume.sizeGiB !== undefined) return volume.sizeGiB;
    const name = source.shapeName;
    const shape = name === undefined ? undefined : (modelShapeNamed(name) ?? derivedModelShape(name));
    if (shape === undefined) return undefined;
    const factor = download === undefined ? OWN_DOWNLOAD_FACTOR : WHOLE_REPOSITORY_FACTOR;
    return Math.ceil((weightBytes(shape) * factor) / GIB) + 1 + adapters.length;
  }
}

/**
 * Folder of a source in a cache: the MD5 digest of its URI, as Kthena has it, so that both find each other's files. A revision is
 * part of the digest where one is given: two of them must not mix.
 */
export function cacheFolder(mountPath: string, source: ModelSource): string {
  const revision = source.origin.kind === 'hub' ? source.origin.revision : undefined;
  const key = revision === undefined ? source.uri : `${source.uri}@${revision}`;
  return `${mountPath}/${createHash('md5').update(key).digest('hex')}`;
}

const gib = (size: number): k8s.Quantity => k8s.Quantity.fromString(`${size}Gi`);

function cacheFindings({ source, cache, download }: ModelWeightsProps, sizeGiB: number | undefined): readonly Finding[] {
  const findings: Finding[] = [];
  const { kind } = cache?.volume ?? {};
  const isRemote = source.origin.kind === 'hub' || source.origin.kind === 'bucket';
  if (cache !== undefined && !isRemote) {
    findings.push({
      code: 'cache/unused',
      severity: 'warning',
      field: 'cache',
      message: `holds nothing: ${source.uri} is already in the pod`,
      remedy: 'remove the cache',
    });
  }
  if (sizeGiB === undefined && (kind === 'new-claim' || kind === 'node-local')) {
    findings.push({
      code: 'cache/no-size',
      severity: 'error',
      field: 'cache.sizeGiB',
      message: `is missing, and the catalogue does not know the size of ${source.uri}`,
      remedy: 'give sizeGiB',
    });
  }
  if (download !== undefined && cache === undefined) {
    findings.push({
      code: 'cache/none-to-fill',
      severity: 'error',
      field: 'download',
      message: 'has no cache to fill',
      remedy: 'add a cache, such as ModelCache.newClaim()',
    });
  }
  if (download?.by === 'job' && cache !== undefined && !cache.isShared) {
    findings.push({
      code: 'cache/not-shared',
      severity: 'error',
      field: 'download.by',
      message: `is a Job, and each pod or node has a cache of its own (${kind})`,
      remedy: "use a claim, or download by 'init-container'",
    });
  }
  return findings;
}

function bucketFindings({ source, adapters = [], download }: ModelWeightsProps): readonly Finding[] {
  if (download !== undefined) return [];
  return [source, ...adapters.map((adapter) => adapter.source)]
    .filter(({ origin }) => origin.kind === 'bucket')
    .map(({ uri }) => ({
      code: 'model/needs-download',
      severity: 'error',
      field: 'source',
      message: `${uri} is not read by engines themselves`,
      remedy: 'give a cache and a download image that fills it',
    }));
}
