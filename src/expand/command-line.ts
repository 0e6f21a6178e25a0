import type { Container } from '../api/pod';
import type { EngineName } from '../catalog/engines/engine';
import { ENGINES } from '../catalog/engines/engine-table';
import { shellCommands } from './shell-words';

/** What a container's command says about an engine. */
export type CommandLine =
  /** It starts an engine's server with these arguments. */
  | { readonly kind: 'engine'; readonly engine: EngineName; readonly args: readonly string[] }
  /** There is no command: the image's own entry point runs with these arguments. */
  | { readonly kind: 'entrypoint'; readonly args: readonly string[] }
  /** It joins a Ray cluster whose head serves: no server of its own. */
  | { readonly kind: 'ray-worker' }
  /** Something that is not understood, such as a script of the image. */
  | { readonly kind: 'other' };

const SHELLS = new Set(['sh', 'bash', 'ash', 'dash', 'zsh']);
const base = (path: string) => path.split('/').at(-1)!;

/** Reads `command` and `args` of a container: argument vectors, and scripts given to a shell with `-c`. */
export function commandLineOf(container: Container): CommandLine {
  const env = literalEnv(container);
  const words = [...(container.command ?? []), ...(container.args ?? [])].map((word) => expandReferences(word, env));
  const commands = commandsOf(words, env);
  for (const command of commands) {
    const engine = engineStart(command);
    if (engine !== undefined) return { kind: 'engine', ...engine };
  }
  if (commands.some(isRayWorker)) return { kind: 'ray-worker' };
  const runsEntrypoint = (container.command ?? []).length === 0 && !isShell(words);
  return runsEntrypoint ? { kind: 'entrypoint', args: words } : { kind: 'other' };
}

/** Environment variables with a literal value. */
export function literalEnv(container: Container): Readonly<Record<string, string>> {
  const entries = (container.env ?? []).map(({ name, value, valueFrom }) => [
    name,
    valueFrom === undefined ? (value ?? '') : undefined,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** `$(NAME)` as the kubelet expands it: unknown names stay, `$$` is a dollar sign. */
function expandReferences(word: string, env: Readonly<Record<string, string>>): string {
  return word.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name?: string) =>
    name === undefined ? '$' : (env[name] ?? whole),
  );
}

function isShell(words: readonly string[]): boolean {
  return SHELLS.has(base(words[0] ?? ''));
}

/** The simple commands that `words` run: themselves, or those of the script after a shell's `-c`. */
function commandsOf(words: readonly string[], env: Readonly<Record<string, string>>): readonly (readonly string[])[] {
  if (!isShell(words)) return words.length === 0 ? [] : [words];
  const flag = words.findIndex((word, i) => i > 0 && /^-[a-z]*c$/.test(word));
  if (flag === -1) return [words];
  const script = words[flag + 1];
  return script === undefined ? [] : shellCommands(script, env).flatMap((command) => commandsOf(command, env));
}

/** The engine and its arguments when `command` starts one, whatever stands before (`exec`, variables, `numactl`, …). */
function engineStart(command: readonly string[]): { readonly engine: EngineName; readonly args: readonly string[] } | undefined {
  for (const engine of Object.values(ENGINES)) {
    const module = command.findIndex((word, i) => engine.modules.includes(word) && command[i - 1] === '-m');
    if (module !== -1) return { engine: engine.name, args: command.slice(module + 1) };
    for (const start of engine.commands) {
      const at = command.findIndex((_, i) =>
        start.every((word, j) => (j === 0 ? base(command[i] ?? '') : command[i + j]) === word),
      );
      if (at !== -1) return { engine: engine.name, args: command.slice(at + start.length) };
    }
  }
  return undefined;
}

/** `multi-node-serving.sh worker …` of vLLM's image, or `ray start --address …`. */
function isRayWorker(command: readonly string[]): boolean {
  const script = command.findIndex((word) => base(word) === 'multi-node-serving.sh');
  if (script !== -1) return command[script + 1] === 'worker';
  const ray = command.findIndex((word) => base(word) === 'ray');
  return ray !== -1 && command[ray + 1] === 'start' && command.some((word) => word.startsWith('--address'));
}
