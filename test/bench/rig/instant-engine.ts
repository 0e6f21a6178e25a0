/**
 * An engine that costs as little as one can, on raw sockets: JSON answers at once; with `"stream":true` one SSE chunk each `pace_ms`,
 * `chunks` times, or until the client leaves. Those members are looked for in the first bytes of a body. The argument is the number of
 * pods that it stands for, each with an address of its own. Prints `PORT n`.
 */
import { createServer, type Socket } from 'node:net';

const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(200) }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 240, completion_tokens: 50, total_tokens: 290 },
});
const HEAD_END = '\r\n\r\n';
/** How much of a body is looked at. */
const SEEN_BYTES = 256;
/** KV cache that it claims, so that a router's index of what it holds is full, and forgets, within minutes: 320,000 tokens. */
const METRICS = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="20000"} 1\nvllm:num_requests_running{model_name="m"} 0\n';

const response = (type: string, body: string): Buffer =>
  Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
const event = (data: string): string => {
  const text = `data: ${data}\n\n`;
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
};
const chunk = (delta: object, more: object = {}): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_790_000_000,
    model: 'm',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
    ...more,
  });

const JSON_ANSWER = response('application/json', ANSWER);
const METRICS_ANSWER = response('text/plain', METRICS);
const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
const STREAM_CHUNK = Buffer.from(event(chunk({ content: ' token' })));
const USAGE = { choices: [], usage: { prompt_tokens: 240, completion_tokens: 50, total_tokens: 290 } };
const STREAM_END = Buffer.from(`${event(chunk({}, USAGE))}${event('[DONE]')}0\r\n\r\n`);

function stream(socket: Socket, body: string): void {
  const numberOf = (member: string, absent: number): number => Number(new RegExp(`"${member}":(\\d+)`).exec(body)?.[1] ?? absent);
  const chunks = numberOf('chunks', Number.POSITIVE_INFINITY);
  let sent = 0;
  socket.write(STREAM_HEAD);
  const timer = setInterval(
    () => {
      if (sent++ < chunks) {
        socket.write(STREAM_CHUNK);
        return;
      }
      clearInterval(timer);
      socket.write(STREAM_END);
    },
    numberOf('pace_ms', 20),
  );
  socket.once('close', () => clearInterval(timer));
}

function serve(socket: Socket): void {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  let held: Buffer = Buffer.alloc(0);
  let head = '';
  let bodyLeft = 0;
  let seen = '';
  const answer = (): void => {
    if (head.startsWith('GET /metrics')) socket.write(METRICS_ANSWER);
    else if (seen.includes('"stream":true')) stream(socket, seen);
    else socket.write(JSON_ANSWER);
  };
  socket.on('data', (bytes: Buffer) => {
    let at = 0;
    while (at < bytes.length) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, bytes.length - at);
        if (seen.length < SEEN_BYTES) seen += bytes.toString('latin1', at, at + Math.min(taken, SEEN_BYTES));
        bodyLeft -= taken;
        at += taken;
        if (bodyLeft === 0) answer();
        continue;
      }
      const rest = at === 0 ? bytes : bytes.subarray(at);
      held = held.length === 0 ? rest : Buffer.concat([held, rest]);
      const end = held.indexOf(HEAD_END);
      if (end === -1) return;
      head = held.toString('latin1', 0, end);
      // A head may have begun in an earlier segment.
      at = bytes.length - (held.length - end - HEAD_END.length);
      held = Buffer.alloc(0);
      seen = '';
      bodyLeft = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      if (bodyLeft === 0) answer();
    }
  });
}

/** Listens on one port of so many addresses of the loopback, as pods have one port and an address each. */
function listen(addresses: number, port = 0, index = 1): void {
  const server = createServer(serve);
  server.listen(port, `127.0.0.${index}`, () => {
    const address = server.address();
    const chosen = typeof address === 'object' && address !== null ? address.port : 0;
    if (index < addresses) listen(addresses, chosen, index + 1);
    else process.stdout.write(`PORT ${chosen}\n`);
  });
}

listen(Number(process.argv[2] ?? 1));
