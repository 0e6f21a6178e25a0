import { readSimpleHead } from '../../../../runtime/router/listener/simple-head';

const read = (text: string) => readSimpleHead(Buffer.from(text, 'latin1'));

describe('readSimpleHead', () => {
  it('reads method, path, fields and the length of the body', () => {
    expect(read('POST /v1/chat?x=1 HTTP/1.1\r\nHost: a\r\nX-Id: \t b c\t \r\nContent-Length: 2\r\n\r\n{}')).toEqual({
      method: 'POST',
      url: '/v1/chat?x=1',
      headers: { host: 'a', 'x-id': 'b c', 'content-length': '2' },
      rawHeaders: ['Host', 'a', 'X-Id', 'b c', 'Content-Length', '2'],
      bodyBytes: 2,
      end: 73,
    });
    expect(read('GET /v1/models HTTP/1.1\r\nhost: a\r\nconnection: Keep-Alive\r\n\r\n')).toMatchObject({ bodyBytes: 0 });
  });

  it('keeps a space that is none of HTTP in the value', () => {
    expect(read('GET / HTTP/1.1\r\nhost: a\r\nx: \xa0b\xa0\r\n\r\n')?.headers.x).toBe('\xa0b\xa0');
  });

  it.each([
    ['a head that is not here as a whole', 'POST / HTTP/1.1\r\nhost: a\r\n'],
    ['another method', 'PUT / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['another version', 'GET / HTTP/1.0\r\nhost: a\r\n\r\n'],
    ['an absolute target', 'GET http://a/ HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a target of no path', 'GET * HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['a space in the target', 'GET /a b HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['two spaces', 'GET  / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['an empty line before', '\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\nx: a\r\n\r\n'],
    ['no fields', 'GET / HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n'],
    ['a field twice', 'GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\nX: 2\r\n\r\n'],
    ['a name that objects have', 'GET / HTTP/1.1\r\nhost: a\r\nconstructor: 1\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\n'],
    ['a length that is none', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: +1\r\n\r\n'],
    ['an empty length', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length:\r\n\r\n'],
    ['chunks', 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n'],
    ['chunks and a length', 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['an expectation', 'POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n'],
    ['an upgrade', 'GET / HTTP/1.1\r\nhost: a\r\nupgrade: h2c\r\n\r\n'],
    ['a last request', 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'],
    ['fields of the connection', 'GET / HTTP/1.1\r\nhost: a\r\nconnection: keep-alive, x\r\n\r\n'],
    ['GET with a body', 'GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\na'],
    ['a folded field', 'GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n 2\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nhost : a\r\n\r\n'],
    ['a line without a colon', 'GET / HTTP/1.1\r\nhost: a\r\nx\r\n\r\n'],
    ['a field without a name', 'GET / HTTP/1.1\r\nhost: a\r\n: x\r\n\r\n'],
    ['a bare line feed', 'GET / HTTP/1.1\r\nhost: a\nx: 1\r\n\r\n'],
    ['a bare carriage return', 'GET / HTTP/1.1\r\nhost: a\rx: 1\r\n\r\n'],
    ['a zero byte', 'GET / HTTP/1.1\r\nhost: a\0\r\n\r\n'],
    ['a long head', `GET / HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(16_384)}\r\n\r\n`],
    ['many fields', `GET / HTTP/1.1\r\nhost: a\r\n${Array.from({ length: 100 }, (_, index) => `x${index}: 1\r\n`).join('')}\r\n`],
  ])('leaves %s to the general server', (_name, text) => {
    expect(read(text)).toBeUndefined();
  });
});
