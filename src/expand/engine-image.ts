import type { EngineName } from '../catalog/engines/engine';
import { ENGINES, newestVersion } from '../catalog/engines/engine-table';

/** What a container image's name says about an engine. */
export interface EngineImage {
  readonly engine: EngineName;
  /** Release from the tag; the newest in the catalogue when the tag tells none. */
  readonly version: string;
}

/** Programs around engines whose images carry an engine's name. */
const NEIGHBOUR = /router|gateway|proxy|exporter|agent|runtime|sidecar|downloader|frontend/;
/** Stand-ins for vLLM, whose tags count their own releases. */
const STAND_IN = /mock|sim(?:ulator)?(?:$|[-_])/;

/**
 * The engine that an image is of: stock images, builds of others that carry the engine's name in repository or tag
 * (`volcano-sh/vllm-openai`, `kthena-engine:vllm-ascend_…`), and stand-ins (`dynamo-mocker-sglang`, `llm-d-inference-sim`).
 */
export function engineImageOf(image: string | undefined): EngineImage | undefined {
  if (image === undefined) return undefined;
  const { repository, tag } = splitImage(image);
  const name = repository.split('/').at(-1)!;
  if (NEIGHBOUR.test(name)) return undefined;
  const engine = engineIn(repository, name, tag);
  if (engine === undefined) return undefined;
  const release = STAND_IN.test(name)
    ? undefined
    : (/v(\d+\.\d+(?:\.\d+)?)/.exec(tag) ?? /(?:^|[-_])(\d+\.\d+\.\d+)/.exec(tag))?.[1];
  return { engine, version: release ?? newestVersion(engine) };
}

function engineIn(repository: string, name: string, tag: string): EngineName | undefined {
  for (const engine of Object.values(ENGINES)) {
    if (engine.imageRepositories.some((stock) => repository === stock || repository.endsWith(`/${stock}`))) return engine.name;
    const word = new RegExp(`(?:^|[-_.])${engine.name}(?:$|[-_.])`);
    if (word.test(name) || word.test(tag)) return engine.name;
  }
  return name === 'llm-d-inference-sim' ? 'vllm' : undefined;
}

function splitImage(image: string): { readonly repository: string; readonly tag: string } {
  const [withoutDigest] = image.split('@');
  const slash = withoutDigest!.lastIndexOf('/');
  const colon = withoutDigest!.indexOf(':', slash + 1);
  return colon === -1
    ? { repository: withoutDigest!.toLowerCase(), tag: '' }
    : { repository: withoutDigest!.slice(0, colon).toLowerCase(), tag: withoutDigest!.slice(colon + 1).toLowerCase() };
}
