import fc from 'fast-check';
import { type AnswerEvents, AnswerParser } from '../../../runtime/lib/answer-parser';

interface Told {
  readonly status?: number;
  readonly headers?: readonly string[];
  readonly body: string;
  readonly end: 'reusable' | 'last' | 'malformed' | 'open';
  readonly isSurplus: boolean;
}

/** Reads the pieces one after another, each from a buffer that is overwritten afterwards, as the connection's is. */
function read(pieces: readonly Buffer[], closes = false): Told {
  let told: Told = { body: '', end: 'open', isSurplus: false };
  const events: AnswerEvents = {
    onHead: (status, headers) => {
      told = { ...told, status, headers };
    },
    onBody: (bytes) => {
      held.push(bytes);
    },
    onEnd: (isReusable) => {
      told = { ...told, end: isReusable ? 'reusable' : 'last' };
    },
    onMalformed: () => {
      told = { ...told, end: 'malformed' };
    },
    onSurplus: () => {
      told = { ...told, isSurplus: true };
    },
  };
  const held: Buffer[] = [];
  const parser = new AnswerParser(events);
  for (const piece of pieces) {
    const shared = Buffer.from(piece);
    parser.push(shared);
    shared.fill(0x2a);
  }
  if (closes) parser.close();
  return { ...told, body: Buffer.concat(held).toString('latin1') };
}

const whole = (text: string): Buffer => Buffer.from(text, 'latin1');

function splitAnywhere(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((start, index) => bytes.subarray(start, at[index] ?? bytes.length)).filter(({ length }) => length > 0);
}

const SIZED = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\nx-a:  b c \r\n\r\n{"a":"b\r\n"}';
const CHUNKED =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n9;ext=1\r\n, world\r\n\r\n0\r\nx-trailer: 1\r\n\r\n';
const CONTINUED = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${SIZED}`;

describe('AnswerParser', () => {
  it.each([
    ['a sized answer', SIZED, { status: 200, body: '{"a":"b\r\n"}', end: 'reusable' }],
    ['a chunked answer', CHUNKED, { status: 200, body: 'hello, world\r\n', end: 'reusable' }],
    ['interim answers before it', CONTINUED, { status: 200, body: '{"a":"b\r\n"}', end: 'reusable' }],
    ['no content', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, body: '', end: 'reusable' }],
    ['an empty body', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', { status: 200, body: '', end: 'reusable' }],
    [
      'the last on its connection',
      'HTTP/1.1 200\r\nConnection: x, Close\r\ncontent-length: 1\r\n\r\na',
      { body: 'a', end: 'last' },
    ],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', { body: 'a', end: 'last' }],
  ] as const)('reads %s however it is split', (_name, text, expected) => {
    const bytes = whole(text);
    expect(read([bytes])).toMatchObject({ ...expected, isSurplus: false });
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(read([bytes]));
    }
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 8 }), (cuts) => {
        expect(read(splitAnywhere(bytes, cuts))).toEqual(read([bytes]));
      }),
    );
  });

  it('gives names in lower case and values without the space around them', () => {
    expect(read([whole(SIZED)]).headers).toEqual(['content-type', 'application/json', 'content-length', '11', 'x-a', 'b c']);
  });

  it('ends an answer without a length when the connection closes', () => {
    const text = whole('HTTP/1.1 200 OK\r\n\r\nabc');
    expect(read([text])).toMatchObject({ body: 'abc', end: 'open' });
    expect(read([text], true)).toMatchObject({ body: 'abc', end: 'last' });
  });

  it.each([SIZED.slice(0, -1), CHUNKED.slice(0, -1), 'HTTP/1.1 200 OK\r\nconte', ''])(
    'says that an answer is not whole when the connection closes inside of it (%#)',
    (text) => {
      expect(read([whole(text)], true).end).toBe('malformed');
    },
  );

  it('takes nothing after the end for another answer', () => {
    expect(read([whole(`${SIZED}HTTP/1.1 200 OK\r\n`)])).toMatchObject({ end: 'malformed', isSurplus: false });
    expect(read([whole(SIZED), whole('x')])).toMatchObject({ end: 'reusable', isSurplus: true });
  });

  it('takes bytes after the end for no answer even when the next request was sent meanwhile', () => {
    const told: string[] = [];
    const parser: AnswerParser = new AnswerParser({
      onHead: (status) => told.push(`head ${status}`),
      onBody: () => told.push('body'),
      onEnd: () => {
        told.push('end');
        parser.reset();
      },
      onMalformed: () => told.push('malformed'),
      onSurplus: () => told.push('surplus'),
    });
    parser.push(whole(`${CHUNKED}HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n`));
    expect(told).toEqual(['head 200', 'body', 'body', 'end', 'surplus']);
  });

  it.each([
    ['another protocol', 'HTTP/2 200 OK\r\n\r\n'],
    ['no status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a status beyond 599', 'HTTP/1.1 600 X\r\n\r\n'],
    ['a change of protocol', 'HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n'],
    ['a length beside chunks', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['chunks beside a length', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n'],
    ['a signed length', 'HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\n'],
    ['a list of lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\n'],
    ['chunks twice', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['another coding', 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n'],
    ['a folded field', 'HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n'],
    ['space before the colon', 'HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\n'],
    ['a line that is no field', 'HTTP/1.1 200 OK\r\nabc\r\n\r\n'],
    ['a bare line feed', 'HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n'],
    ['a bare carriage return', 'HTTP/1.1 200 OK\r\na: b\rc: d\r\n\r\n'],
    ['a null character', 'HTTP/1.1 200 OK\r\na: b\0\r\n\r\n'],
    ['a chunk size that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
    ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\na: ${'x'.repeat(70_000)}`],
    ['a chunk size without end', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;${'x'.repeat(5_000)}`],
    ['trailers without end', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(20_000)}`],
  ])('refuses %s', (_name, text) => {
    expect(read([whole(text)]).end).toBe('malformed');
  });

  it('never throws and never tells an end twice, whatever arrives', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'HTTP/1.1 200 OK\r\n',
        'content-length: 3\r\n',
        'transfer-encoding: chunked\r\n',
        '\r\n',
        '3\r\nabc\r\n',
        '0\r\n',
        'abc',
      ),
      fc.string({ maxLength: 10 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (texts) => {
        let ends = 0;
        const count = (): void => {
          ends += 1;
        };
        const parser = new AnswerParser({ onHead() {}, onBody() {}, onEnd: count, onMalformed: count, onSurplus() {} });
        for (const text of texts) parser.push(whole(text));
        expect(ends).toBeLessThanOrEqual(1);
      }),
    );
  });
});
