import { EventStreamReader } from '../../../../runtime/router/providers/event-stream-reader';
import { splits } from '../../../helpers/splits';

const read = (chunks: readonly Buffer[]): readonly string[] => {
  const reader = new EventStreamReader();
  return chunks.flatMap((chunk) => reader.push(chunk));
};

describe('the reader of event streams', () => {
  it('finds the same events wherever the stream is cut', () => {
    const stream = Buffer.from(
      'event: a\r\ndata: {"ü":1}\r\n\r\n: a comment\n\nid: 7\ndata:one\ndata: two\n\n\ndata: [DONE]\n\ndata: never ended\n',
    );
    for (const chunks of splits(stream)) expect(read(chunks)).toEqual(['{"ü":1}', 'one\ntwo', '[DONE]']);
  });

  it('gives up an event that does not end', () => {
    const reader = new EventStreamReader();
    const push = () => {
      for (let megabytes = 0; megabytes < 20; megabytes++) reader.push(Buffer.alloc(2 ** 20, 'x'));
    };
    expect(push).toThrow(RangeError);
  });
});
