import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';

/** Sends requests as fast as they are answered; a run with one that failed is an error. */
export interface HttpLoad {
  /** For so many seconds. @returns requests that were answered. */
  run(port: number, seconds: number): Promise<number>;
}

const PATH = '/v1/chat/completions';

/** A chat request of about so many bytes: lines of words, as prompts are. */
export function chatBody(bytes: number): string {
  const line = 'and then the people of the valley went up to the well and drew water again. \n';
  const content = line.repeat(Math.ceil(bytes / line.length));
  const bodyOf = (text: string): string =>
    JSON.stringify({ model: 'm', max_tokens: 16, messages: [{ role: 'user', content: text }] });
  // Line ends take two bytes in JSON.
  const excess = bodyOf(content).length - bytes;
  return bodyOf(content.slice(0, Math.max(1, content.length - excess)));
}

/** `wrk` with one thread, over HTTP/1.1. @param file a script is written to. */
export function wrkLoad(file: string, scheme: 'http' | 'https', body: string, connections: number): HttpLoad {
  writeFileSync(`${file}.json`, body);
  writeFileSync(
    `${file}.lua`,
    [
      'wrk.method = "POST"',
      `local body = io.open(${JSON.stringify(`${file}.json`)}, "rb")`,
      'wrk.body = body:read("*a")',
      'body:close()',
      'wrk.headers["Content-Type"] = "application/json"',
      'function done(summary, latency, requests)',
      '  local e = summary.errors',
      '  io.write(string.format("RESULT %d %d\\n", summary.requests, e.connect + e.read + e.write + e.status + e.timeout))',
      'end',
    ].join('\n'),
  );
  return {
    async run(port, seconds) {
      const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', `${file}.lua`];
      const text = await outputOf('wrk', [...args, `${scheme}://127.0.0.1:${port}${PATH}`]);
      const [, requests, errors] = /RESULT (\d+) (\d+)/.exec(text) ?? [];
      return answered(Number(requests), Number(errors), text);
    },
  };
}

/** `h2load` with one thread: HTTP/2 over TLS, 64 streams at a time on 8 connections. */
export function h2Load(file: string, body: string): HttpLoad {
  writeFileSync(`${file}.json`, body);
  return {
    async run(port, seconds) {
      const args = ['-t1', '-c8', '-m8', '-D', String(seconds), '-d', `${file}.json`, '-H', 'content-type: application/json'];
      const text = await outputOf('h2load', [...args, `https://127.0.0.1:${port}${PATH}`]);
      const [, succeeded, failed] = /(\d+) succeeded, (\d+) failed/.exec(text) ?? [];
      const refused = /status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/.exec(text)?.slice(1) ?? [];
      const errors = refused.reduce((sum, count) => sum + Number(count), Number(failed));
      return answered(Number(succeeded), errors, text);
    },
  };
}

/** Runs load until so many requests were answered, or `mostSeconds` are over. */
export async function warmUp(load: HttpLoad, port: number, requests: number, mostSeconds: number): Promise<void> {
  const end = performance.now() + 1000 * mostSeconds;
  for (let sent = 0; sent < requests && performance.now() < end; ) sent += await load.run(port, 2);
}

function answered(requests: number, errors: number, text: string): number {
  if (!(requests > 0) || errors !== 0) throw new Error(`${errors} of ${requests} requests failed: ${text}`);
  return requests;
}

function outputOf(command: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.on('error', reject);
    child.on('close', () => resolve(text));
  });
}
