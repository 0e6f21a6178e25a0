import { connect } from 'node:net';

/** One HTTP answer, taken apart as it came over the wire. */
export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Chunks of a chunked answer, one by one. */
  readonly chunks: readonly string[];
  /** Whether the answer is complete by its own framing. */
  readonly isComplete: boolean;
}

export function parseAnswer(bytes: Buffer, method = 'GET'): RawAnswer {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return { status: 0, headers: {}, body: Buffer.alloc(0), chunks: [], isComplete: false };
  const [statusLine, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const status = Number(statusLine!.split(' ')[1]);
  const rest = bytes.subarray(end + 4);
  if (headers['transfer-encoding'] !== 'chunked') {
    const length = method === 'HEAD' ? 0 : headers['content-length'];
    const body = length === undefined ? rest : rest.subarray(0, Number(length));
    return { status, headers, body, chunks: [], isComplete: length !== undefined && rest.length >= Number(length) };
  }
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = rest.indexOf('\r\n', at);
    if (line < 0) break;
    const size = Number.parseInt(rest.subarray(at, line).toString('latin1'), 16);
    if (rest.length < line + 2 + size + 2) break;
    if (size === 0) return { status, headers, body: Buffer.concat(chunks), chunks: chunks.map(String), isComplete: true };
    chunks.push(rest.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return { status, headers, body: Buffer.concat(chunks), chunks: chunks.map(String), isComplete: false };
}

/** Sends the bytes on a connection of their own. Resolves when the answer is complete or the connection ended. */
export function sendRaw(port: number, bytes: Buffer | string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const method = bytes.toString().split(' ')[0]!;
    let received = Buffer.alloc(0);
    const finish = (): void => {
      socket.destroy();
      resolve(parseAnswer(received, method));
    };
    socket.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
      if (parseAnswer(received, method).isComplete) finish();
    });
    socket.on('end', finish);
    socket.on('error', reject);
    socket.write(bytes);
  });
}

/** A request that is still open. */
export interface OpenRequest {
  readonly answer: RawAnswer;
  /** Resolves with the answer so far once `enough` holds of it, or when the connection ended. */
  until(enough: (answer: RawAnswer) => boolean): Promise<RawAnswer>;
  /** Whether the server ended the connection. */
  readonly hasEnded: boolean;
  leave(): void;
}

export function openRaw(port: number, bytes: string): OpenRequest {
  const socket = connect(port, '127.0.0.1');
  let received = Buffer.alloc(0);
  let hasEnded = false;
  const waiters = new Set<() => void>();
  const wake = (): void => {
    for (const waiter of waiters) waiter();
  };
  socket.on('data', (data: Buffer) => {
    received = Buffer.concat([received, data]);
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    hasEnded = true;
    wake();
  });
  socket.write(bytes);
  return {
    get answer() {
      return parseAnswer(received, bytes.split(' ')[0]);
    },
    get hasEnded() {
      return hasEnded;
    },
    until(enough) {
      return new Promise((resolve) => {
        const look = (): void => {
          const answer = parseAnswer(received);
          if (!enough(answer) && !hasEnded) return;
          waiters.delete(look);
          resolve(answer);
        };
        waiters.add(look);
        look();
      });
    },
    leave: () => socket.destroy(),
  };
}

/** A POST of JSON as bytes. */
export function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): string {
  const text = JSON.stringify(body);
  const extra = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return `POST ${path} HTTP/1.1\r\nhost: engine\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${extra}\r\n${text}`;
}

export function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nhost: engine\r\n\r\n`;
}
