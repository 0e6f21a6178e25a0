import fc from 'fast-check';

/** One attack as it goes over the wire. */
export interface HostileRequest {
  readonly kind: string;
  /** Pieces that are written one after the other, with a pause in between. */
  readonly pieces: readonly Buffer[];
  readonly pauseMs: number;
  /** Whether the sender stays after its last piece and waits, in place of ending its side. */
  readonly holds: boolean;
}

/** Stands as value of every forbidden member in bodies that are well-formed; no engine may ever see it. */
export const MARK = 'must-not-reach-an-engine';

/** What the attacks aim at. */
export interface HostileTargets {
  /** Models that routes serve. */
  readonly models: readonly string[];
  readonly keys: readonly string[];
  readonly responseIds: readonly string[];
}

export const FORBIDDEN = [
  ...['kv_transfer_params', 'ec_transfer_params', 'bootstrap_host', 'bootstrap_port', 'bootstrap_room', 'cache_salt'],
  ...['data_parallel_rank', 'priority', 'request_id', 'rid', 'prompt_embeds', 'mm_payload', 'vllm_xargs', 'extra_key'],
  ...['chat_template', 'media_io_kwargs', 'mm_processor_kwargs'],
] as const;

const PATHS = [
  ...['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages', '/v1/messages/count_tokens', '/v1/embeddings'],
  ...['/v1/rerank', '/v1/score', '/v1/audio/speech', '/tokenize', '/detokenize'],
] as const;
const FORM_PATHS = ['/v1/audio/transcriptions', '/v1/audio/translations'] as const;
const ADMIN_PATHS = [
  ...[
    '/sleep',
    '/wake_up',
    '/reset_prefix_cache',
    '/v1/load_lora_adapter',
    '/v1/unload_lora_adapter',
    '/metrics',
    '/abort_requests',
  ],
  ...[
    '/collective_rpc',
    '/update_weights',
    '/flush_cache',
    '/generate',
    '/adapters/x',
    '/v1/responses/../../sleep',
    '/invocations',
  ],
] as const;

const escapeSome = (key: string, seed: number): string =>
  [...key]
    .map((char, index) => ((seed >> (index % 16)) & 1 ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : char))
    .join('');

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('\\ud800', '\\udc00\\ud800', '\\u0000', '\\"', '\\\\', '"', '\u2028', '😀', '\\x', '\\u12'),
);

const scalar = fc.oneof(
  fc.constantFrom('[1 2]', '{"a" 1}', '{a:1}', '[NaN]', '"\u0001"', '[,]', '"\\q"', '{"a":1,}', '[01]'),
  fc.constantFrom('null', 'true', 'false', '1e999', '-0', '1e-999', 'NaN', 'Infinity', '01', '0x1', '-', '1.', '"a"', '[]', '{}'),
  fc.nat(450).map((digits) => '9'.repeat(digits + 1)),
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  oddText.map((text) => `"${text}"`),
  fc.nat(400).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.nat(300).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
);

const prompt = fc.constantFrom(
  '"messages":[{"role":"user","content":"hello"}]',
  '"prompt":"hello"',
  '"prompt":[[1,2],[3]]',
  '"prompt":["a","b"]',
  '"input":"hello"',
  '"input":[{"type":"message","role":"user","content":[{"type":"input_image","image_url":"http://169.254.169.254/latest"}]}]',
  '"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]',
);

function jsonBody(targets: HostileTargets): fc.Arbitrary<{ readonly text: string; readonly isMarked: boolean }> {
  const model = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...targets.models).map((name) => JSON.stringify(name)) },
    fc.constantFrom('""', '" "', '7', 'null', '[]', '"\\ud800"', '"__proto__"', '"constructor"', '"m\\u0000"'),
    fc.constantFrom(1_000, 1_025, 100_000).map((length) => JSON.stringify('x'.repeat(length))),
  );
  const member = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .record({ key: fc.constantFrom(...FORBIDDEN), mask: fc.nat(65_535) })
        .map(({ key, mask }) => ({ text: `"${escapeSome(key, mask)}":"${MARK}"`, isOdd: false })),
    },
    { weight: 2, arbitrary: prompt.map((text) => ({ text, isOdd: false })) },
    fc
      .tuple(
        fc.constantFrom(
          'user',
          'messages',
          'prompt',
          'input',
          'tools',
          'stream',
          'stream_options',
          'max_tokens',
          'max_completion_tokens',
          'previous_response_id',
          'n',
        ),
        scalar,
      )
      .map(([key, value]) => ({ text: `"${key}":${value}`, isOdd: true })),
    fc.tuple(oddText, scalar).map(([key, value]) => ({ text: `"${key}":${value}`, isOdd: true })),
    fc.constantFrom(...targets.responseIds).map((id) => ({ text: `"previous_response_id":"${id}"`, isOdd: false })),
  );
  return fc
    .tuple(model, fc.array(member, { maxLength: 6 }), fc.nat(6), fc.constantFrom(',', ' ,\n', ',,'))
    .map(([name, members, place, comma]) => {
      const texts = members.map(({ text }) => text);
      texts.splice(place, 0, `"model":${name}`);
      return { text: `{${texts.join(comma)}}`, isMarked: members.every(({ isOdd }) => !isOdd) };
    });
}

/** Damages a body. Marks are taken out first: a damaged key is another key, which may pass. */
const mutate = (text: string, how: number, at: number, byte: number): Buffer => {
  const bytes = Buffer.from(text.replaceAll(MARK, 'x'));
  const place = bytes.length === 0 ? 0 : at % bytes.length;
  switch (how) {
    case 0:
      return bytes.subarray(0, place);
    case 1:
      return Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place + 1)]);
    case 3:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]);
    default:
      return Buffer.concat([bytes, bytes]);
  }
};

const oddHeader = fc.constantFrom(
  ...[
    'x-data-parallel-rank: 3',
    'X-Kvasir-Tenant: red',
    'x-kvasir-explain: 1',
    'x-prefiller-host-port: 1.2.3.4:5',
    'x-bootstrap-room: 1',
  ],
  ...[
    'x-forwarded-for: 10.0.0.1',
    'forwarded: for=1',
    'cookie: a=b',
    'x-request-id: ___prefill_addr_1.2.3.4:5___decode_addr_6',
    'x-api-key: x',
  ],
  ...[
    'connection: close, authorization, host, content-type',
    'content-encoding: gzip',
    'expect: 100-continue',
    'te: trailers',
    'upgrade: h2c',
  ],
  ...[
    'transfer-encoding: gzip, chunked',
    'x: a\r\n b',
    'x: a\rb',
    'x: a\0b',
    'x : a',
    ': a',
    'x',
    'host: other',
    `x: ${'y'.repeat(70_000)}`,
  ],
  ...[
    'content-length: 3',
    'content-length: +3',
    'content-length: 3, 4',
    'transfer-encoding: xchunked',
    'transfer-encoding : chunked',
  ],
);

const INNER = 'POST /sleep HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';

const head = (method: string, path: string, headers: readonly string[]): string =>
  `${method} ${path} HTTP/1.1\r\nhost: router\r\n${headers.map((each) => `${each}\r\n`).join('')}\r\n`;

const whole = (kind: string, text: string | Buffer): HostileRequest => ({
  kind,
  pieces: [Buffer.from(text)],
  pauseMs: 0,
  holds: false,
});

function formPart(boundary: string, name: string, how: number, model: string): string {
  const disposition = [
    `name="${name}"`,
    `name=${name}`,
    `name="${name}"; filename="a"`,
    `name="x"; name="${name}"`,
    `NAME="${name}"`,
    `name*=utf-8''${name}`,
  ][how]!;
  const isForbidden = FORBIDDEN.some((each) => name.startsWith(each));
  const value = name === 'model' ? model : isForbidden ? MARK : 'true';
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
}

/** Attacks of every kind that the router must bear, as bytes. */
export function hostileRequest(targets: HostileTargets): fc.Arbitrary<HostileRequest> {
  const key = fc.constantFrom(...targets.keys).map((each) => `authorization: Bearer ${each}`);
  const path = fc.constantFrom(...PATHS);
  const body = jsonBody(targets);
  const json = 'content-type: application/json';
  const framed = (payload: Buffer, kind: string, at: string, headers: readonly string[]): HostileRequest => ({
    kind,
    pieces: [
      Buffer.concat([Buffer.from(head('POST', at, [...headers, json, `content-length: ${payload.length}`]), 'latin1'), payload]),
    ],
    pauseMs: 0,
    holds: false,
  });
  const members = fc
    .tuple(key, path, body)
    .map(([auth, at, { text, isMarked }]) =>
      framed(Buffer.from(isMarked ? text : text.replaceAll(MARK, 'x')), 'members', at, [auth]),
    );
  const damaged = fc
    .tuple(key, path, body, fc.nat(4), fc.nat(), fc.nat(255))
    .map(([auth, at, { text }, how, where, byte]) => framed(mutate(text, how, where, byte), 'damaged body', at, [auth]));
  const bytes = fc
    .tuple(key, path, fc.uint8Array({ maxLength: 200 }))
    .map(([auth, at, noise]) => framed(Buffer.from(noise), 'noise for a body', at, [auth]));
  const [mainModel = ''] = targets.models;
  const good = `{"model":${JSON.stringify(mainModel)},"messages":[]}`;
  const headers = fc
    .tuple(key, path, fc.array(oddHeader, { minLength: 1, maxLength: 3 }))
    .map(([auth, at, odd]) => framed(Buffer.from(good), 'headers', at, [auth, ...odd]));
  const trick = fc.constantFrom(
    '//',
    '/./',
    '/../',
    '%2f',
    '%2F',
    '%5c',
    '\\',
    '%00',
    '%2e%2e/',
    '%252e',
    ';a=b',
    '%',
    '%zz',
    '%ff',
    '?',
    '#',
    '/',
  );
  const piece = fc.oneof(trick, fc.constantFrom(...PATHS, ...ADMIN_PATHS), fc.stringMatching(/^[a-z/.%-]{0,8}$/));
  const target = fc.oneof(
    fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('').replaceAll(' ', '')),
    fc.constantFrom(...ADMIN_PATHS, '*', 'http://evil/v1/chat/completions', 'router:80', '/v1/models/../../sleep'),
  );
  const method = fc.constantFrom('POST', 'POST', 'GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'CONNECT', 'BREW');
  const paths = fc
    .tuple(key, method, target)
    .map(([auth, verb, at]) =>
      whole('path', head(verb, at === '' ? '/' : at, [auth, json, `content-length: ${good.length}`]) + good),
    );
  const smuggled = fc.tuple(key, path, fc.nat(5)).map(([auth, at, how]) => {
    const chunk = `${good.length.toString(16)}\r\n${good}\r\n0\r\n\r\n`;
    const shapes = [
      head('POST', at, [auth, `content-length: ${chunk.length}`, 'transfer-encoding: chunked']) + chunk + INNER,
      head('POST', at, [auth, 'content-length: 4', 'content-length: 5']) + good + INNER,
      head('POST', at, [auth, 'transfer-encoding: chunked']) +
        `${good.length.toString(16)};x="\n"\r\n${good}\r\n0\r\nx: y\r\n\r\n${INNER}`,
      `${head('POST', at, [auth, 'transfer-encoding: chunked'])}ffffffffffffffff1\r\n${good}\r\n0\r\n\r\n${INNER}`,
      head('POST', at, [auth, 'transfer-encoding: chunked', 'transfer-encoding: identity']) + chunk + INNER,
      head('POST', at, [auth, `content-length: ${good.length}`]).replaceAll('\r\n', '\n') + good + INNER,
    ];
    return whole('smuggling', shapes[how]!);
  });
  const field = fc.tuple(
    fc.constantFrom('model', 'file', 'stream', 'prompt', 'language', ...FORBIDDEN, 'vllm_xargs[a]'),
    fc.oneof({ weight: 6, arbitrary: fc.nat(1) }, fc.nat(5)),
  );
  const form = fc
    .tuple(
      key,
      fc.constantFrom(...FORM_PATHS),
      fc.array(field, { maxLength: 4 }),
      fc.oneof({ weight: 4, arbitrary: fc.constantFrom('X', 'a b') }, fc.constantFrom('', 'X"', '-')),
      fc.oneof({ weight: 6, arbitrary: fc.nat(1) }, fc.nat(3)),
      fc.nat(5),
    )
    .map(([auth, at, fields, boundary, end, place]) => {
      const parts = fields.map(([name, how]) => formPart(boundary, name, how, mainModel));
      if (place < 5) parts.splice(place, 0, formPart(boundary, 'model', 0, mainModel));
      const payload = `${parts.join('')}${[`--${boundary}--\r\n`, `--${boundary}--`, `--${boundary}`, ''][end]!}`;
      const type = `content-type: multipart/form-data; boundary=${boundary.includes(' ') ? `"${boundary}"` : boundary}`;
      return whole('form', head('POST', at, [auth, type, `content-length: ${Buffer.byteLength(payload)}`]) + payload);
    });
  const byId = fc
    .tuple(
      key,
      fc.constantFrom('GET', 'DELETE', 'POST', 'PUT'),
      fc.oneof(fc.constantFrom(...targets.responseIds), fc.stringMatching(/^[A-Za-z0-9_.%/-]{0,140}$/)),
      fc.constantFrom('', '/cancel', '/input_items', '?stream=true'),
    )
    .map(([auth, verb, id, rest]) =>
      whole('response by id', head(verb, `/v1/responses/${id}${rest}`, [auth, 'content-length: 0'])),
    );
  const slow = fc.tuple(key, path, fc.nat(3), fc.nat(30)).map(([auth, at, how, pauseMs]): HostileRequest => {
    const start = head('POST', at, [auth, json, `content-length: ${good.length}`]);
    const half = good.length >> 1;
    const pieces = [
      [start, good.slice(0, half), good.slice(half)],
      [start, good.slice(0, half)],
      [start.slice(0, -2), '\r\n', good],
      [head('POST', at, [auth, json, 'transfer-encoding: chunked']), '5\r\nab'],
    ][how]!;
    return { kind: 'slow', pieces: pieces.map((each) => Buffer.from(each)), pauseMs, holds: how === 1 || how === 3 };
  });
  const noise = fc
    .uint8Array({ minLength: 1, maxLength: 300 })
    .map((each) => whole('noise', Buffer.concat([Buffer.from(each), Buffer.from('\r\n\r\n')])));
  return fc.oneof(
    { weight: 8, arbitrary: members },
    { weight: 4, arbitrary: damaged },
    { weight: 1, arbitrary: bytes },
    { weight: 3, arbitrary: headers },
    { weight: 4, arbitrary: paths },
    { weight: 2, arbitrary: smuggled },
    { weight: 3, arbitrary: form },
    { weight: 2, arbitrary: byId },
    { weight: 1, arbitrary: slow },
    { weight: 1, arbitrary: noise },
  );
}
