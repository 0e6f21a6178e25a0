import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A file of the hub's one repository. */
export interface HubFile {
  readonly path: string;
  readonly content: Buffer;
  /** Kept in the large file storage, whose files are named by SHA-256. */
  readonly isLarge?: boolean;
}

export const REPOSITORY = 'org/model';
export const COMMIT = '1234567890123456789012345678901234567890';

/** A hub over HTTP that speaks as Hugging Face does: model, tree in pages, files by redirect to another host's storage. */
export class ModelHub {
  /** Requests for content so far, with their range. */
  readonly contents: { readonly path: string; readonly range: string | undefined; readonly authorization: string | undefined }[] =
    [];
  /** Bytes of content that were sent. */
  sentBytes = 0;
  /** Takes the place of the answer. @returns whether it did. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  /** Content is sent as a whole, whatever range is asked for. */
  ignoresRange = false;
  /** A connection is reset after so many bytes of content. */
  resetAfterBytes = Number.POSITIVE_INFINITY;
  /** Whenever so many more bytes of content were sent over all connections, one is reset. */
  resetEveryBytes = Number.POSITIVE_INFINITY;
  resets = 0;
  commit = COMMIT;
  private readonly servers: Server[] = [];
  private port = 0;
  private storagePort = 0;

  private constructor(public files: readonly HubFile[]) {}

  static async start(files: readonly HubFile[]): Promise<ModelHub> {
    const hub = new ModelHub(files);
    hub.port = await hub.listen((request, response) => hub.answer(request, response));
    hub.storagePort = await hub.listen((request, response) => hub.send(request, response));
    return hub;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    for (const server of this.servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  private async listen(listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
    const server = createServer((request, response) => {
      if (!this.intercept(request, response)) listener(request, response);
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url!, this.endpoint);
    if (pathname === `/api/models/${REPOSITORY}/revision/main`) {
      response.end(JSON.stringify({ id: REPOSITORY, sha: this.commit }));
    } else if (pathname === `/api/models/${REPOSITORY}/tree/${this.commit}`) {
      this.tree(Number(searchParams.get('cursor') ?? 0), response);
    } else if (pathname.startsWith(`/${REPOSITORY}/resolve/${this.commit}/`)) {
      const path = pathname.slice(`/${REPOSITORY}/resolve/${this.commit}`.length);
      // Another name of the same machine is another host.
      response.writeHead(302, { location: `http://localhost:${this.storagePort}${path}?signature=x` }).end();
    } else {
      response.writeHead(404, { 'x-error-message': 'Not found' }).end();
    }
  }

  private tree(cursor: number, response: ServerResponse): void {
    const page = this.files.slice(cursor, cursor + 2).map(({ path, content, isLarge }) => ({
      type: 'file',
      path,
      size: content.length,
      oid: createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex'),
      ...(isLarge === true && { lfs: { oid: createHash('sha256').update(content).digest('hex'), size: content.length } }),
    }));
    if (cursor + 2 < this.files.length) {
      const next = `${this.endpoint}/api/models/${REPOSITORY}/tree/${this.commit}?recursive=true&cursor=${cursor + 2}`;
      response.setHeader('link', `<${next}>; rel="next"`);
    }
    response.end(JSON.stringify([{ type: 'directory', path: 'folder', size: 0, oid: '' }, ...page]));
  }

  private send(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url!, this.endpoint);
    const path = decodeURIComponent(pathname.slice(1));
    const { range, authorization } = request.headers;
    this.contents.push({ path, range, authorization });
    const { content } = this.files.find((file) => file.path === path)!;
    const [, from, to] = (this.ignoresRange ? null : /^bytes=(\d+)-(\d+)$/.exec(range ?? '')) ?? [];
    const [start, end] = from === undefined ? [0, content.length] : [Number(from), Number(to) + 1];
    const headers = { 'content-length': end - start };
    if (from === undefined) response.writeHead(200, headers);
    else response.writeHead(206, { ...headers, 'content-range': `bytes ${start}-${end - 1}/${content.length}` });
    this.stream(response, content.subarray(start, end));
  }

  private stream(response: ServerResponse, content: Buffer): void {
    const last = Math.min(content.length, this.resetAfterBytes);
    let at = 0;
    const next = (): void => {
      while (at < last) {
        const chunk = content.subarray(at, Math.min(last, at + 256 * 1024));
        at += chunk.length;
        this.sentBytes += chunk.length;
        if (this.sentBytes >= (this.resets + 1) * this.resetEveryBytes) {
          this.resets += 1;
          response.write(chunk);
          setTimeout(() => response.socket?.resetAndDestroy(), 20);
          return;
        }
        if (!response.write(chunk)) {
          response.once('drain', next);
          return;
        }
      }
      if (last === content.length) response.end();
      // What was written is let through before the reset.
      else setTimeout(() => response.socket?.resetAndDestroy(), 20);
    };
    next();
  }
}
