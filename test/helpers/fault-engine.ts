import { type ChildProcess, spawn } from 'node:child_process';
import type { ServerResponse } from 'node:http';
import { connect, createServer, Server, type Socket } from 'node:net';
import { type ReceivedRequest, TestEngine } from './router-harness';

/** Tokens of a whole answer. */
export const ANSWER_TOKENS = 8;
const TOKEN_MS = 4;

/** An engine whose words say which request they answer and who said them, so that a client can tell whose answer it got. */
export class FaultEngine extends TestEngine {
  /** Factor of every wait. */
  slowness = 1;
  private isSilent = false;
  private impostor: Server | undefined;
  private readonly blackHole: { process?: ChildProcess | undefined; readonly sockets: Socket[] } = { sockets: [] };

  constructor(private readonly index: number) {
    super((request, response) => this.serve(request, response));
  }

  /** How a healthy engine answers. */
  serve(request: ReceivedRequest, response: ServerResponse): void {
    if (this.isSilent) return;
    if (streams(request)) this.stream(request, response, ANSWER_TOKENS, () => response.end(`${usageEvent}data: [DONE]\n\n`));
    else setTimeout(() => response.writeHead(200, JSON_TYPE).end(this.document(request)), 2 * TOKEN_MS * this.slowness);
  }

  /** Sends the first tokens of a stream, and then does what `then` does. */
  stream(request: ReceivedRequest, response: ServerResponse, tokens: number, then: () => void): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let sent = 0;
    const next = (): void => {
      if (response.destroyed || this.isSilent) return;
      if (sent === tokens) {
        then();
        return;
      }
      response.write(event({ choices: [{ index: 0, delta: { content: this.token(request, sent) } }] }));
      sent += 1;
      setTimeout(next, TOKEN_MS * this.slowness);
    };
    setTimeout(next, TOKEN_MS * this.slowness);
  }

  /** A whole answer that does not stream. */
  document(request: ReceivedRequest): string {
    const content = Array.from({ length: ANSWER_TOKENS }, (_, k) => this.token(request, k)).join('');
    return JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message: { role: 'assistant', content } }], usage });
  }

  /** Its process is gone, and what listens in its place resets whoever comes. */
  async acceptAndReset(): Promise<void> {
    const { port } = this;
    await this.kill();
    const server = createServer((socket) => socket.resetAndDestroy());
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    this.impostor = server;
  }

  /** It stops in the middle of what it does: nothing more is said, and no connection ends. */
  stall(): void {
    this.isSilent = true;
  }

  /** Its machine lost power: connections that stand hear nothing more, and new ones are not even refused. */
  async vanish(): Promise<void> {
    this.stall();
    const { port } = this;
    // Ends the listener alone, where that of HTTP would end connections too.
    if (this.server !== undefined) Server.prototype.close.call(this.server);
    const script = `require('node:net').createServer().listen(${port},'127.0.0.1',1,()=>console.log('up'))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    this.blackHole.process = child;
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.kill('SIGSTOP');
    // Two fill the queue of a listener that takes nobody from it; the system drops the packets of those that come then.
    for (let count = 0; count < 2; count++) {
      const socket = connect(port, '127.0.0.1');
      // When the process that holds the port ends, its connections are reset.
      socket.on('error', () => undefined);
      this.blackHole.sockets.push(socket);
      await new Promise((resolve) => socket.once('connect', resolve));
    }
  }

  override async kill(): Promise<void> {
    const { impostor } = this;
    this.impostor = undefined;
    if (impostor !== undefined) await new Promise((resolve) => impostor.close(resolve));
    const { process: holder } = this.blackHole;
    this.blackHole.process = undefined;
    if (holder !== undefined) {
      const gone = new Promise((resolve) => holder.once('exit', resolve));
      holder.kill('SIGKILL');
      await gone;
    }
    for (const socket of this.blackHole.sockets.splice(0)) socket.destroy();
    await super.kill();
  }

  private token(request: ReceivedRequest, k: number): string {
    return `${numberOf(request)}:${this.index}:${k} `;
  }
}

export const JSON_TYPE = { 'content-type': 'application/json' };
const usage = { prompt_tokens: 10, completion_tokens: ANSWER_TOKENS, total_tokens: 10 + ANSWER_TOKENS };

export function event(document: object): string {
  return `data: ${JSON.stringify(document)}\n\n`;
}

const usageEvent = event({ choices: [], usage });

export function streams({ body }: ReceivedRequest): boolean {
  return body.includes('"stream":true');
}

/** Which request of a load it is. */
function numberOf({ body }: ReceivedRequest): string {
  return /request (\d+)/.exec(body)?.[1] ?? '?';
}
