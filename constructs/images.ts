/**
 * Where container images come from.
 *
 * @example
 * new GitOpsApp({
 *   images: { registry: 'registry.example.com/kvasir', tag: '0.1.0', mirrors: { 'docker.io/': 'registry.example.com/hub/' } },
 * });
 */
export interface ImageSettings {
  /**
   * Registry and folder of Kvasir's own images, such as `registry.example.com/kvasir`.
   *
   * @default none; a platform construct without it is an error, since no default names an image that may not exist
   */
  readonly registry?: string;
  /** Tag of Kvasir's own images, such as `0.1.0`. @default none */
  readonly tag?: string;
  /**
   * Rewrites the beginning of every image of every object, engines included: `{ 'vllm/': 'mirror.example.com/vllm/' }`. The longest
   * match wins.
   *
   * @default none
   */
  readonly mirrors?: Readonly<Record<string, string>>;
}

/**
 * `image` as the mirrors of `settings` name it. A prefix fits the name as it is written or with the registry that it leaves out
 * (`vllm/vllm-openai` is `docker.io/vllm/vllm-openai`). An image that already lies at a mirror stays.
 */
export function mirroredImage(image: string, settings: ImageSettings): string {
  const mirrors = Object.entries(settings.mirrors ?? {});
  if (mirrors.some(([, mirror]) => mirror !== '' && image.startsWith(mirror))) return image;
  const full = withRegistry(image);
  const [prefix, mirror] =
    mirrors
      .filter(([candidate]) => image.startsWith(candidate) || (candidate.includes('/') && full.startsWith(candidate)))
      .sort(([a], [b]) => b.length - a.length)[0] ?? [];
  if (prefix === undefined) return image;
  return `${mirror}${(image.startsWith(prefix) ? image : full).slice(prefix.length)}`;
}

/** `image` with the registry and folder that container runtimes add when they are left out. */
function withRegistry(image: string): string {
  const [first, ...rest] = image.split('/');
  if (rest.length === 0) return `docker.io/library/${image}`;
  return /[.:]|^localhost$/.test(first!) ? image : `docker.io/${image}`;
}

/** Kvasir's own image `kvasir-<part>`; undefined while registry or tag are not given. */
export function ownImage(part: 'router' | 'autoscaler', settings: ImageSettings): string | undefined {
  if (settings.registry === undefined || settings.tag === undefined) return undefined;
  return mirroredImage(`${settings.registry.replace(/\/+$/, '')}/kvasir-${part}:${settings.tag}`, settings);
}
