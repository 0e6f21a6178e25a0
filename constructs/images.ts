/** Where container images come from. */
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
   * Rewrites the beginning of every image, engines included: `{ 'vllm/': 'mirror.example.com/vllm/' }`. The longest match wins.
   *
   * @default none
   */
  readonly mirrors?: Readonly<Record<string, string>>;
}

/** `image` as the mirrors of `settings` name it. */
export function mirroredImage(image: string, settings: ImageSettings): string {
  const [prefix, mirror] =
    Object.entries(settings.mirrors ?? {})
      .filter(([candidate]) => image.startsWith(candidate))
      .sort(([a], [b]) => b.length - a.length)[0] ?? [];
  return prefix === undefined ? image : `${mirror}${image.slice(prefix.length)}`;
}

/** Kvasir's own image `kvasir-<part>`; undefined while registry or tag are not given. */
export function ownImage(part: 'router' | 'autoscaler', settings: ImageSettings): string | undefined {
  if (settings.registry === undefined || settings.tag === undefined) return undefined;
  return mirroredImage(`${settings.registry.replace(/\/+$/, '')}/kvasir-${part}:${settings.tag}`, settings);
}

/** Why what runs under `image` may change without a change of the manifest; undefined when it cannot be told from the name. */
export function mutableTagOf(image: string): string | undefined {
  if (image.includes('@')) return undefined;
  const tag = /:([^/:]+)$/.exec(image)?.[1];
  if (tag === undefined) return 'no tag, which means latest';
  return /^(latest|main|master|nightly|dev|edge|stable)$/.test(tag) ? `the moving tag ${tag}` : undefined;
}
