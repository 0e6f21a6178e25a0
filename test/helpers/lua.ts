import { execFileSync, spawnSync } from 'node:child_process';

/** Names of the interpreter: 5.1 first, which is the language that Argo CD runs. */
const INTERPRETERS = ['lua5.1', 'lua5.3', 'lua5.4', 'lua'];

/** The Lua interpreter of this machine; undefined when there is none, which under CI is an error. */
export function luaInterpreter(): string | undefined {
  const found = INTERPRETERS.find((name) => spawnSync(name, ['-v']).status === 0);
  if (found === undefined && process.env.CI !== undefined) throw new Error('no Lua interpreter: install lua5.1');
  return found;
}

/** Runs a health script as Argo CD does: the object as the global `obj`, its table as the answer. */
export function runHealthScript(
  interpreter: string,
  script: string,
  object: unknown,
): { readonly status: string; readonly message: string } {
  const program = `obj = ${literal(object)}
local function health()
${script}
end
local result = health()
io.write(result.status, "\\n", result.message or "")`;
  const [status = '', ...rest] = execFileSync(interpreter, ['-'], { input: program, encoding: 'utf8' }).split('\n');
  return { status, message: rest.join('\n') };
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(literal).join(', ')}}`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([key, child]) => `[${JSON.stringify(key)}] = ${literal(child)}`)
      .join(', ')}}`;
  }
  return value === null ? 'nil' : JSON.stringify(value);
}
