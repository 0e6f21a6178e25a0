import { connect, type Socket } from 'node:net';
import { chatBody } from './router-harness';

const body = chatBody({ stream: true, messages: [{ role: 'user', content: 'request 1000000 ' }] });
const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;

/** A whole request of a stream, as bytes. */
export const STREAM_REQUEST = head + body;

const onceData = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('data', resolve));
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What a client did when it left. */
export const LEAVING_STAGES: readonly (readonly [string, (socket: Socket) => Promise<unknown>])[] = [
  ['before it said anything', async () => undefined],
  ['inside the head of its request', async (socket) => socket.write(head.slice(0, 40))],
  ['inside the body of its request', async (socket) => socket.write(head + body.slice(0, 10))],
  ['in the moment its request was sent', async (socket) => socket.write(STREAM_REQUEST)],
  [
    'before the first byte of its answer',
    async (socket) => {
      socket.write(STREAM_REQUEST);
      await pause(2);
    },
  ],
  [
    'in the middle of its answer',
    async (socket) => {
      socket.write(STREAM_REQUEST);
      await onceData(socket);
    },
  ],
  [
    'after it stopped reading its answer',
    async (socket) => {
      socket.write(STREAM_REQUEST);
      await onceData(socket);
      socket.pause();
    },
  ],
];

/** Clients that come, go on until a stage, and leave; every second one by a reset. */
export async function leaveAt(port: number, count: number, goOnUntil: (socket: Socket) => Promise<unknown>): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      await goOnUntil(socket);
      if (index % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }),
  );
}
