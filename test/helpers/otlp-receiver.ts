import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** A span as OTLP's JSON has it, with its attributes as an object. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string }[];
  /** 2: error. */
  readonly status: { readonly code?: number; readonly message?: string };
}

interface RawSpan extends Omit<ReceivedSpan, 'attributes'> {
  readonly attributes: readonly RawAttribute[];
}

interface RawAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A collector of traces over HTTP and JSON, on a free loopback port. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  readonly paths: string[] = [];
  /** What it answers. */
  status = 200;
  private server: Server | undefined;

  async start(): Promise<string> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const bytes = Buffer.concat(chunks);
        this.paths.push(request.url!);
        const plain = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
        if (this.status === 200) this.take(JSON.parse(plain.toString()));
        response.writeHead(this.status, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.server = server;
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  }

  close(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }

  private take(document: {
    readonly resourceSpans: readonly {
      readonly resource: { readonly attributes: readonly RawAttribute[] };
      readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
    }[];
  }): void {
    for (const { resource, scopeSpans } of document.resourceSpans) {
      this.resources.push(plain(resource.attributes));
      for (const { spans } of scopeSpans) {
        this.spans.push(...spans.map((span) => ({ ...span, attributes: plain(span.attributes) })));
      }
    }
  }
}

function plain(attributes: readonly RawAttribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
