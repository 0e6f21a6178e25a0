import type { Container, Pod } from '../api/pod';
import { modelShapeNamed } from '../catalog/models';
import { Annotations } from '../labels';
import type { FlagReader } from './engine-flags';
import type { PodService } from './serving-context';

/** Where a pod's model may be named. */
interface ModelHints {
  readonly flags: FlagReader;
  readonly env: Readonly<Record<string, string>>;
  readonly service: PodService;
  /** Whether image and command say nothing, so that the environment and the ModelServers are asked. */
  readonly isSilent: boolean;
  /** Model of an engine that is told none. */
  readonly fallback: string;
}

/** The model that is loaded, and the names that it is served under. */
export function modelOf(pod: Pod, hints: ModelHints): { readonly name: string; readonly servedNames: readonly string[] } {
  const { flags, env, service } = hints;
  const annotated = pod.metadata.annotations?.[Annotations.modelShape];
  if (hints.isSilent) {
    const named = [
      ...new Set([env.MODEL_NAME, ...service.models].filter((name): name is string => name !== undefined && name !== '')),
    ];
    const servedNames = named.length > 0 ? named : service.routedModels.length > 0 ? service.routedModels : [hints.fallback];
    return { name: annotated ?? env.MODEL_NAME ?? servedNames[0]!, servedNames };
  }
  const written =
    flags.text('--model', '--model-path') ??
    flags.positional.find((word) => word !== 'serve') ??
    env.MODEL_NAME ??
    hints.fallback;
  const served = flags.list('--served-model-name');
  const servedNames = served.length > 0 ? served : [written];
  return { name: annotated ?? loadedModel(pod, written, servedNames[0]!), servedNames };
}

/** Hub name behind a path: what an init container downloads to it, else a model that the path or the served name tells. */
function loadedModel(pod: Pod, written: string, servedName: string): string {
  if (!/^[./]/.test(written)) return written.replace(/^[a-z0-9]+:\/\//i, '');
  const path = trimSlash(written);
  for (const container of pod.spec.initContainers ?? []) {
    const folder = argument(container, '--output-dir');
    const source = argument(container, '--source');
    if (folder !== undefined && source !== undefined && trimSlash(folder) === path) return source.replace(/^[a-z0-9]+:\/\//i, '');
  }
  return (modelShapeNamed(path) ?? modelShapeNamed(servedName))?.name ?? path.split('/').at(-1)!;
}

const trimSlash = (path: string) => path.replace(/(?<=.)\/+$/, '');

/** Value of a long option in a container's arguments, given as `--name value` or `--name=value`. */
function argument(container: Container, name: string): string | undefined {
  const words = [...(container.command ?? []), ...(container.args ?? [])];
  const at = words.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at === -1) return undefined;
  return words[at] === name ? words[at + 1] : words[at]!.slice(name.length + 1);
}

/** LoRA adapters of `--lora-modules` (vLLM) or `--lora-paths` (SGLang), name → path: `name=path`, a path alone, or a JSON object. */
export function adaptersOf(flags: FlagReader): Readonly<Record<string, string>> {
  const adapters: Record<string, string> = {};
  for (const word of flags.list('--lora-modules', '--lora-paths')) {
    const json = jsonAdapter(word);
    if (json !== undefined) {
      adapters[json.name] = json.path;
      continue;
    }
    const equals = word.indexOf('=');
    adapters[equals === -1 ? word : word.slice(0, equals)] = word.slice(equals + 1);
  }
  return adapters;
}

function jsonAdapter(word: string): { readonly name: string; readonly path: string } | undefined {
  if (!word.startsWith('{')) return undefined;
  try {
    const value = JSON.parse(word) as Readonly<Record<string, unknown>>;
    const name = value.name ?? value.lora_name;
    return typeof name === 'string' ? { name, path: String(value.path ?? value.lora_path ?? name) } : undefined;
  } catch {
    return undefined;
  }
}
