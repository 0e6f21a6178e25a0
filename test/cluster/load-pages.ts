import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Metrics pages of all pods, at every loopback address and one port; the path of a page says whose pods ask for it. */
export class LoadPages {
  /** Pages that were asked for, in order, in milliseconds since the epoch. */
  readonly asked: { readonly path: string; readonly atMs: number }[] = [];
  /** Runs before the next page of this path is answered, once. */
  private before: { readonly path: string; readonly act: () => Promise<void> | void } | undefined;

  private constructor(
    private readonly server: Server,
    private readonly running: (path: string) => number,
  ) {
    server.on('request', async (request, response) => {
      const path = request.url!;
      this.asked.push({ path, atMs: Date.now() });
      const page = `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{model_name="m"} ${this.running(path)}\n`;
      if (this.before?.path === path) {
        const { act } = this.before;
        this.before = undefined;
        await act();
      }
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(page);
    });
  }

  /** @param running requests that each pod of a path says to run. */
  static async open(running: (path: string) => number): Promise<LoadPages> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    return new LoadPages(server, running);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves when the next page of `path` was asked for and `act` is done; its answer goes out after that. */
  onNext(path: string, act: () => Promise<void> | void): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = async (): Promise<void> => {
        try {
          await act();
          resolve();
        } catch (error) {
          reject(error as Error);
        }
      };
      this.before = { path, act: done };
    });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
