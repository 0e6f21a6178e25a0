import type { ApiObject } from 'cdk8s';
import { Construct } from 'constructs';
import type { KubeObject } from '../src/api/meta';
import { type Finding, KvasirError } from '../src/errors';
import type { BoosterImages } from '../src/expand/booster/pod-parts';
import { KTHENA_IMAGES } from '../src/expand/expand-model-booster';
import { readManifests } from '../src/read-manifests';
import { addCheck } from './check';
import type { KindClasses } from './kthena/kind-classes';
import { type BoosterHandling, ManifestFile } from './kthena/manifest-file';
import { type ManifestText, readTexts } from './kthena/manifest-sources';
import type { KubeModelRoute } from './kube/model-route';
import type { KubeModelServer } from './kube/model-server';

/** A Kubernetes object of any kind, with all of its fields. */
export type AnyKubeObject = KubeObject & { readonly [field: string]: unknown };

export interface KthenaManifestsProps {
  /** YAML or JSON files, relative to the folder where synth runs. @default none */
  readonly files?: readonly string[];
  /** Folder whose *.yaml, *.yml and *.json are read, at any depth, in order of their names. @default none */
  readonly folder?: string;
  /** YAML or JSON text, of any number of objects. @default none */
  readonly text?: string;
  /** Objects, written as literals. @default none */
  readonly objects?: readonly AnyKubeObject[];
  /**
   * `cascade`: a ModelBooster is replaced by the ModelServing, ModelServer and ModelRoute that Kthena's controller makes of it.
   * `keep`: it stays, and Kthena's controller acts on it.
   *
   * @default 'cascade'
   */
  readonly modelBoosters?: 'cascade' | 'keep';
  /** Images that a cascade adds to the engine's: downloader and runtime. @default what Kthena's Helm chart configures */
  readonly images?: Partial<BoosterImages>;
}

/**
 * L3: Kthena's own YAML in a stack. Every object keeps every field; those of Kthena's kinds are instances of their classes. All of it
 * is checked with the rest of the stack, and changed with cdk8s' `addJsonPatch`. A name that is not found in the stack is a warning
 * here, since files may be a part of what a cluster holds.
 *
 * @example
 * new KthenaManifests(models, 'imported', {
 *   objects: [
 *     {
 *       apiVersion: 'networking.serving.volcano.sh/v1alpha1',
 *       kind: 'ModelServer',
 *       metadata: { name: 'small' },
 *       spec: {
 *         inferenceEngine: 'vLLM',
 *         workloadPort: { port: 8000 },
 *         workloadSelector: { matchLabels: { app: 'small' } },
 *       },
 *     },
 *   ],
 * });
 */
export class KthenaManifests extends Construct {
  /** All objects, in the order of the files. */
  readonly objects: readonly ApiObject[];

  /** @throws KvasirError when nothing to read is given. */
  constructor(scope: Construct, id: string, props: KthenaManifestsProps) {
    super(scope, id);
    const { files = [], folder, text, objects } = props;
    if (files.length === 0 && folder === undefined && text === undefined && objects === undefined) throw nothingGiven(this);
    const findings: Finding[] = [];
    const handling: BoosterHandling = {
      modelBoosters: props.modelBoosters ?? 'cascade',
      images: { ...KTHENA_IMAGES, ...props.images },
    };
    const read = readTexts([...files, ...(folder === undefined ? [] : [folder])]);
    findings.push(...read.findings);
    const texts: readonly ManifestText[] = [...read.texts, ...(text === undefined ? [] : [{ file: 'text', text }])];
    const parts = texts.map((each) => {
      const manifests = readManifests(each.text, each.file);
      findings.push(...manifests.findings);
      return new ManifestFile(this, each.file, manifests.objects, handling);
    });
    if (objects !== undefined) {
      const literals = objects.map((object) => ({ object, file: 'objects', line: 1 }));
      parts.push(new ManifestFile(this, 'objects', literals, handling));
    }
    this.objects = parts.flatMap((part) => part.objects);
    addCheck(this, () => findings);
  }

  get modelServers(): readonly KubeModelServer[] {
    return this.ofKind('ModelServer');
  }

  get routes(): readonly KubeModelRoute[] {
    return this.ofKind('ModelRoute');
  }

  /** All objects of `kind`. */
  ofKind<K extends keyof KindClasses>(kind: K): readonly KindClasses[K][];
  ofKind(kind: string): readonly ApiObject[];
  ofKind(kind: string): readonly ApiObject[] {
    return this.objects.filter((object) => object.kind === kind);
  }

  /**
   * The object of this kind and name.
   *
   * @param namespace needed only where several namespaces have one.
   * @throws KvasirError when there is none; it lists what there is.
   */
  get<K extends keyof KindClasses>(kind: K, name: string, namespace?: string): KindClasses[K];
  get(kind: string, name: string, namespace?: string): ApiObject;
  get(kind: string, name: string, namespace?: string): ApiObject {
    const found = this.objects.find(
      (object) =>
        object.kind === kind && object.name === name && (namespace === undefined || object.metadata.namespace === namespace),
    );
    if (found !== undefined) return found;
    const names = this.objects.map((object) => `${object.kind} ${object.name}`).join(', ');
    throw new KvasirError({
      code: 'kthena/no-object',
      object: this.node.path,
      message: `there is no ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`,
      remedy: names === '' ? 'give files that have it' : `use one of ${names}`,
    });
  }
}

function nothingGiven(manifests: KthenaManifests): KvasirError {
  return new KvasirError({
    code: 'kthena/nothing-given',
    object: manifests.node.path,
    message: 'has nothing to read',
    remedy: 'give files, folder, text or objects',
  });
}
