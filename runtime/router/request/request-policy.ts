import type { RequestsConfig } from '../../../src/config/request-config';
import { RouterError } from '../errors';
import { printable } from './api-paths';
import { mediaUrls } from './media-urls';
import { SLICE_BYTES } from './parse-body';

/** What requests for one model may ask of engines. */
export interface ModelPolicy {
  /** Guarded members that pass. */
  readonly allowed: ReadonlySet<string>;
  /** Rejects with RouterError `media_not_allowed`. `pause` is awaited between slices of long prompts. */
  readonly checkMedia: ((promptSpans: readonly Buffer[], pause: () => Promise<void>) => Promise<void>) | undefined;
}

/** What requests may ask of engines, by the model that clients name. */
export class RequestPolicy {
  private readonly common: ModelPolicy;
  private readonly byModel: ReadonlyMap<string, ModelPolicy>;

  constructor({ models, ...common }: RequestsConfig) {
    this.common = compile(common);
    this.byModel = new Map(Object.entries(models).map(([model, own]) => [model, compile({ ...common, ...own })]));
  }

  of(model: string): ModelPolicy {
    return this.byModel.get(model) ?? this.common;
  }
}

function compile({ allowMembers, media, mediaHosts }: Omit<RequestsConfig, 'models'>): ModelPolicy {
  const allowed = new Set<string>(allowMembers);
  if (media === 'anywhere') return { allowed, checkMedia: undefined };
  const isAllowed = media === 'dataUrlsOnly' ? () => false : hostTest(mediaHosts);
  return {
    allowed,
    checkMedia: async (spans, pause) => {
      for (const span of spans) {
        for (const url of mediaUrls(span, SLICE_BYTES)) {
          if (url === undefined) {
            await pause();
            continue;
          }
          const host = hostOf(url);
          if (host !== undefined && isAllowed(host)) continue;
          const where = host === undefined ? 'is no plain http or https URL' : `is on the host ${printable(host)}`;
          throw new RouterError('media_not_allowed', `an image, video, audio or file of the prompt ${where}`);
        }
      }
    },
  };
}

function hostTest(patterns: readonly string[]): (host: string) => boolean {
  const exact = new Set<string>();
  const endings: string[] = [];
  for (const pattern of patterns) {
    const lower = pattern.toLowerCase();
    if (lower.startsWith('*.')) endings.push(lower.slice(1));
    else exact.add(lower);
  }
  return (host) => exact.has(host) || endings.some((ending) => host.length > ending.length && host.endsWith(ending));
}

/**
 * Readers of URLs disagree on user information, backslashes and white space, and what one takes for the host another fetches a path
 * from: a URL with any of them has no host here.
 */
function hostOf(url: string): string | undefined {
  return PLAIN_URL.exec(url)?.[1]?.toLowerCase();
}

const PLAIN_URL = /^https?:\/\/([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?(?:[/?#](?:(?!\\)[\x21-\x7e])*)?$/i;
