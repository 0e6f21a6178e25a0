import type { KubeObject } from '../../src/api/meta';

/** Annotation by which Argo CD takes options for one object, separated by commas. */
export const SYNC_OPTIONS = 'argocd.argoproj.io/sync-options';
/** Annotation by which Flux takes `disabled` for one object that must not be removed. */
export const FLUX_PRUNE = 'kustomize.toolkit.fluxcd.io/prune';

/** Kinds whose removal destroys what no sync brings back: a definition takes all objects of its kind along, a claim its volume. */
const KEPT: ReadonlySet<string> = new Set(['apiextensions.k8s.io/v1 CustomResourceDefinition', 'v1 PersistentVolumeClaim']);

/** Annotations that keep `object` in the cluster when its file goes; none for kinds that can be made again. What it carries itself wins. */
export function keepAnnotations({ apiVersion, kind, metadata }: KubeObject): Readonly<Record<string, string>> {
  if (!KEPT.has(`${apiVersion} ${kind}`)) return {};
  const options = metadata.annotations?.[SYNC_OPTIONS];
  const kept = options === undefined ? 'Prune=false' : /\bPrune=/.test(options) ? options : `${options},Prune=false`;
  return { [SYNC_OPTIONS]: kept, [FLUX_PRUNE]: metadata.annotations?.[FLUX_PRUNE] ?? 'disabled' };
}
