/**
 * The metrics pages of many engines in one process: every loopback address is an engine, with a page recorded from vLLM. Counters and
 * histograms grow every second, and running requests differ from engine to engine and from page to page. The only argument is the page's
 * file; prints `PORT n`.
 *
 * Takes messages: `{ running: n, from, to }` makes engines of those numbers have n running requests; `'read'` is answered with an
 * `ExportedPages` of what was served since the last time.
 */
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { RUNNING, WAITING } from './scale-objects';

export interface ExportedPages {
  readonly pages: number;
  readonly connections: number;
  readonly bytes: number;
  /** From the first request to the end of the last answer. */
  readonly spanMs: number;
}

export interface SetRunning {
  readonly running: number;
  readonly from: number;
  readonly to: number;
}

/** The page, cut where an engine's own numbers stand. */
type Part = { readonly text: string } | { readonly gauge: 'running' | 'waiting' };

const GROWING = /^(?!.*_created\{)([a-z_:]+\{[^}]*\}) (\d[\d.e+-]*)$/;
const lines = bodyOf(readFileSync(process.argv[2]!, 'latin1')).split('\n');
const types = new Map(
  lines.flatMap((line) => {
    const [, word, name, type] = line.split(' ');
    return word === 'TYPE' ? [[name!, type!] as const] : [];
  }),
);
/** Running requests of engines that were told some. */
const told = new Map<number, number>();
const startedMs = performance.now();
let served = { pages: 0, connections: 0, bytes: 0, firstMs: 0, lastMs: 0 };
let current = { second: -1, parts: [] as readonly Part[] };

function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

/** The page after so many seconds of the same work as in the recording, each second. */
function partsAt(second: number): readonly Part[] {
  if (current.second === second) return current.parts;
  const parts: Part[] = [];
  let text = '';
  for (const line of lines) {
    const gauge = line.startsWith(`${RUNNING}{`) ? 'running' : line.startsWith(`${WAITING}{`) ? 'waiting' : undefined;
    if (gauge !== undefined) {
      parts.push({ text: `${text}${line.slice(0, line.lastIndexOf(' ') + 1)}` }, { gauge });
      text = '\n';
    } else {
      const match = GROWING.exec(line);
      const isGrowing = match !== null && types.get(familyOf(match[1]!)) !== 'gauge';
      text += isGrowing ? `${match[1]} ${(1000 + second) * Number(match[2])}\n` : `${line}\n`;
    }
  }
  parts.push({ text });
  current = { second, parts };
  return parts;
}

function familyOf(series: string): string {
  const name = series.slice(0, series.indexOf('{'));
  return types.has(name) ? name : name.replace(/_(bucket|sum|count|total)$/, '');
}

/** Number of an engine by its address, as `scale-objects` numbers them. */
function engineOf(address: string): number {
  const [, , c, d] = address.split('.').map(Number);
  return 256 * c! + d!;
}

function pageOf(engine: number): string {
  const parts = partsAt(Math.floor((performance.now() - startedMs) / 1000));
  const running = told.get(engine) ?? 9 + ((engine + served.pages) % 3);
  return parts.map((part) => ('text' in part ? part.text : part.gauge === 'running' ? `${running}.0` : '0.0')).join('');
}

function answer(socket: Socket): void {
  const body = pageOf(engineOf(socket.localAddress!));
  const head = `HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-length: ${body.length}\r\ncontent-type: text/plain; version=1.0.0; charset=utf-8\r\n\r\n`;
  if (served.pages === 0) served.firstMs = performance.now();
  served.pages += 1;
  served.bytes += head.length + body.length;
  socket.write(head + body, 'latin1', () => {
    served.lastMs = performance.now();
  });
}

const server = createServer({ noDelay: true }, (socket) => {
  served.connections += 1;
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('\r\n\r\n')) answer(socket);
  });
});

process.on('message', (message: SetRunning | 'read') => {
  if (message === 'read') {
    const { firstMs, lastMs, ...counts } = served;
    process.send?.({ ...counts, spanMs: lastMs - firstMs } satisfies ExportedPages);
    served = { pages: 0, connections: 0, bytes: 0, firstMs: 0, lastMs: 0 };
    return;
  }
  for (let engine = message.from; engine < message.to; engine++) told.set(engine, message.running);
});
process.on('disconnect', () => process.exit(0));
server.listen(0, '0.0.0.0', 4096, () => process.stdout.write(`PORT ${(server.address() as AddressInfo).port}\n`));
