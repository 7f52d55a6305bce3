import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as API, CHUNKED } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { openConnection, sendRaw } from '../../support/raw-client.ts';
import { useTestApp } from '../../support/fixtures.ts';

const HIDDEN = '/api/public/v1/hidden';
const CRLF = '\r\n';
const TARGETS = [
  ['an API request', API],
  ['a page', '/'],
] as const;

const TIMING = /\r\nserver-timing: session;dur=[\d.]+, token;dur=[\d.]+, service;dur=[\d.]+\r\n/i;

const testApp = useTestApp();
let cookie: string;
/** The POST bodies that reached the service in full. */
const whole: string[] = [];

beforeAll(async () => {
  ({ cookie } = await testApp.createSession());
});
beforeEach(() => {
  testApp.serviceRequests.length = 0;
  whole.length = 0;
  testApp.intercept = (req, res) => {
    const read = async () => {
      const body = await text(req);
      if (req.method === 'POST') whole.push(body);
      res.end(`${req.url} ${body}`);
    };
    void read().catch(() => {}); // an aborted body is incomplete
    return true;
  };
});

/** Returns a request head with a session cookie. The head is well-formed unless the caller adds a fault. */
function head(line: string, ...fields: string[]): string {
  const good = [`Cookie: ${cookie}`, 'X-Requested-With: test'];
  return [line, ...good, ...fields, '', ''].join(CRLF);
}

const hidden = () => head(`GET ${HIDDEN} HTTP/1.1`, 'Host: x');
const fields = (count: number) => Array.from({ length: count }, (_, index) => `a${index}:`);

/** Sends the parts of a text, one per event loop turn. Resolves with everything that the client received. */
async function sendParts(parts: Iterable<number> | readonly string[]): Promise<string> {
  const client = await openConnection(testApp.config.port);
  for (const part of parts) {
    if (!client.socket.writable) break;
    client.socket.write(typeof part === 'number' ? Buffer.of(part) : part);
    await nextTurn();
  }
  await client.closed;
  return client.text();
}
const sendWhole = async (request: string) => sendParts([request]);
const sendByteByByte = async (request: string) => sendParts(Buffer.from(request, 'latin1'));

/** Requests refused by Node's parser get a response without a body. Requests refused by Cloakroom get a problem. */
type Form = 'bare' | 'problem';
const PROBLEM = [/\r\nx-request-id: [\da-f-]{36}\r\n/i, /\r\ncontent-type: application\/problem\+json\r\n/i];
const BARE = /^HTTP\/1.1 \d+ [\w ]+\r\nConnection: close\r\nContent-Length: 0\r\n\r\n$/;

/** Expects one response, a closed connection, and neither the hidden request nor a complete body at the service. */
async function expectRefused(
  send: (text: string) => Promise<string>,
  request: string,
  status: number,
  form: Form,
) {
  const response = await send(request + hidden());
  expect(response.match(/HTTP\/1\.\d \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
  expect(response).toMatch(/\r\nconnection: close\r\n/i);
  const timing = request.includes(API) ? [TIMING] : []; // pages have no Server-Timing
  for (const part of form === 'bare' ? [BARE] : [...PROBLEM, ...timing]) expect(response).toMatch(part);
  await expectNothingHidden();
}

/** Expects the service to have received neither the hidden request nor a complete body. */
async function expectNothingHidden() {
  // By the time this request reaches the service, a hidden request would already have arrived.
  const last = head('GET /api/public/v1/last HTTP/1.1', 'Host: x', 'Connection: close');
  expect(await sendRaw(testApp, last)).toMatch(/^HTTP\/1.1 200 /);
  expect(testApp.serviceRequests.map(({ url }) => url)).not.toContain(HIDDEN);
  expect(whole).toEqual([]);
}

/** A valid chunked body. */
const BODY = `5${CRLF}hello${CRLF}0${CRLF}${CRLF}`;

/** A fault in a request head, and the text of the request. `{path}` stands for the path of an API request or a page. */
type Fault = [what: string, toText: () => string];

const get = (...lines: string[]) => head('GET {path} HTTP/1.1', 'Host: x', ...lines);
const post = (...lines: string[]) => head('POST {path} HTTP/1.1', 'Host: x', ...lines);

/** Malformed requests that Node's parser refuses. */
const REFUSED_BY_NODE: Fault[] = [
  // RFC 9112 §3.2
  ['a space before the colon of Host', () => head('GET {path} HTTP/1.1', 'Host : x')],
  // RFC 9112 §2.3, §3
  ['the version HTTP/3', () => head('GET {path} HTTP/3', 'Host: x')],
  ['the version HTTP/11', () => head('GET {path} HTTP/11', 'Host: x')],
  ['the version http/1.1', () => head('GET {path} http/1.1', 'Host: x')],
  ['no target', () => head('GET HTTP/1.1', 'Host: x')],
  ['a space in the target', () => head('GET {path} /b HTTP/1.1', 'Host: x')],
  ['an unknown method', () => head('GOT {path} HTTP/1.1', 'Host: x')],
  ['a lower-case method', () => head('get {path} HTTP/1.1', 'Host: x')],
  ['a space before the method', () => ` ${get()}`],
  // RFC 9112 §2.2, §5
  ['bare line feeds', () => post().replaceAll(CRLF, '\n')],
  ['a bare line feed after the first line', () => head('GET {path} HTTP/1.1\nHost: x')],
  ['a bare line feed after a field', () => head('GET {path} HTTP/1.1', 'Host: x\nA: b')],
  ['a bare carriage return', () => head('GET {path} HTTP/1.1', 'Host: x\rA: b')],
  ['a bare line feed at the end', () => `${get().slice(0, -2)}\n`],
  ['a folded field', () => get('A: b', ' c')],
  ['a field folded with a tab', () => get('A: b', '\tc')],
  ['a folded first field', () => head(`GET {path} HTTP/1.1${CRLF} A: b`, 'Host: x')],
  ['a field without a colon', () => get('nonsense')],
  ['a field without a name', () => get(': nameless')],
  ['a space in a field name', () => get('a b: c')],
  ['a control character in a field name', () => get('a\x01b: c')],
  ['a null byte in a field value', () => get('A: b\0c')],
  ['a null byte in a field name', () => get('a\0: c')],
  ['a control character in a field value', () => get('A: b\x01c')],
  // RFC 9112 §6.1, §6.3
  ...[
    ...['chunked, gzip', 'chunked, chunked', 'identity', 'gzip', 'chunked;a=b', '"chunked"', 'chunk'],
    ...['xchunked', '\x0bchunked'],
  ].map((coding): Fault => [
    `Transfer-Encoding: ${JSON.stringify(coding)}`,
    () => post(`Transfer-Encoding: ${coding}`) + BODY,
  ]),
  ['Transfer-Encoding: chunked twice', () => post(CHUNKED, CHUNKED) + BODY],
  ['a space before the colon of Transfer-Encoding', () => post('Transfer-Encoding : chunked') + BODY],
  ['Content-Length, then Transfer-Encoding', () => post('Content-Length: 5', CHUNKED) + BODY],
  ['Transfer-Encoding, then Content-Length', () => post(CHUNKED, 'Content-Length: 5') + BODY],
  [
    'Content-Length and an unknown Transfer-Encoding',
    () => `${post('Content-Length: 5', 'Transfer-Encoding: x')}hello`,
  ],
  ...['0', '5', '6'].map((second): Fault => [
    `Content-Length: 5 and ${second}`,
    () => `${post('Content-Length: 5', `Content-Length: ${second}`)}hello`,
  ]),
  ...['5, 5', '5,6', '-5', '+5', '5 5', '5.0', '0x5', '5e0', 'five', '', '٥', '99999999999999999999'].map(
    (length): Fault => [
      `Content-Length: ${JSON.stringify(length)}`,
      () => `${post(`Content-Length: ${length}`)}hello`,
    ],
  ),
];

/** Malformed requests that Node's parser accepts but Cloakroom refuses. */
const REFUSED_BY_CLOAKROOM: Fault[] = [
  // RFC 9112 §3.2
  ['no Host', () => head('GET {path} HTTP/1.1')],
  ['two Hosts', () => get('Host: y')],
  ['the same Host twice', () => get('hOST: x')],
  ['two Hosts in HTTP/1.0', () => head('GET {path} HTTP/1.0', 'Host: x', 'Host: y')],
  ...['', 'x, y', 'x/y', 'me@x', 'x y'].map((host): Fault => [
    `Host: ${JSON.stringify(host)}`,
    () => head('GET {path} HTTP/1.1', `Host: ${host}`),
  ]),
  // RFC 9112 §2.3, §3
  ['the version HTTP/0.9', () => head('GET {path} HTTP/0.9', 'Host: x')],
  ['no version', () => head('GET {path}', 'Host: x')],
  // RFC 9112 §6.1, §6.3
  ...['gzip, chunked', ', chunked'].map((coding): Fault => [
    `Transfer-Encoding: ${JSON.stringify(coding)}`,
    () => post(`Transfer-Encoding: ${coding}`) + BODY,
  ]),
  ['two Transfer-Encodings', () => post('Transfer-Encoding: gzip', CHUNKED) + BODY],
  [
    'a Transfer-Encoding in HTTP/1.0',
    () => head('POST {path} HTTP/1.0', 'Host: x', 'Connection: keep-alive', CHUNKED) + BODY,
  ],
  // In each of these requests, another check could come before the check for a repeated Host.
  ['two Hosts and a bad target', () => head('GET {path}/../x HTTP/1.1', 'Host: x', 'Host: y')],
  ['two Hosts and no session', () => `GET {path} HTTP/1.1${CRLF}Host: x${CRLF}Host: y${CRLF}${CRLF}`],
  ['two Hosts and an expectation', () => get('Host: y', 'Expect: more')],
  ['two Hosts and 100-continue', () => post('Host: y', 'Expect: 100-continue', 'Content-Length: 5')],
];

type Refusal = [...fault: Fault, status: number, form: Form];

const HEADS: Refusal[] = [
  ...REFUSED_BY_NODE.map(([what, toText]): Refusal => [what, toText, 400, 'bare']),
  ...REFUSED_BY_CLOAKROOM.map(([what, toText]): Refusal => [what, toText, 400, 'problem']),
  ['the version HTTP/1.2', () => head('GET {path} HTTP/1.2', 'Host: x'), 505, 'bare'],
  ['the version HTTP/2.0', () => head('GET {path} HTTP/2.0', 'Host: x'), 505, 'problem'],
  ['the HTTP/2 connection preface', () => `PRI * HTTP/2.0${CRLF}${CRLF}SM${CRLF}${CRLF}`, 505, 'bare'],
  ['an unknown expectation', () => get('Expect: more'), 417, 'problem'],
  ['the method CONNECT', () => head('CONNECT {path} HTTP/1.1', 'Host: x'), 405, 'bare'],
  [
    'the method CONNECT and another host',
    () => head('CONNECT other.test:443 HTTP/1.1', 'Host: x'),
    405,
    'bare',
  ],
];

/** Request heads that are too large (RFC 6585 §5). */
const LARGE_HEADS: Refusal[] = [
  ['101 fields', () => get(...fields(98)), 431, 'problem'],
  [
    '2,500 fields before a Content-Length',
    () => post(...fields(2_496), `Content-Length: ${hidden().length}`),
    431,
    'problem',
  ],
  ['2,500 fields and two Hosts', () => get(...fields(2_496), 'Host: y'), 431, 'problem'],
  ['a head of more than 16 KiB', () => get(`A: ${'b'.repeat(17_000)}`), 431, 'bare'],
  ['a target of more than 16 KiB', () => get().replace(' HTTP', `?${'b'.repeat(17_000)} HTTP`), 431, 'bare'],
];

describe.each(TARGETS)('%s whose head has', (_what, path) => {
  test.each([...HEADS, ...LARGE_HEADS])('%s is refused, and later bytes are not read', async (...fault) => {
    const [, toText, status, form] = fault;
    await expectRefused(
      async (bytes) => sendRaw(testApp, bytes),
      toText().replace('{path}', path),
      status,
      form,
    );
  });
});

describe('an API request that arrives byte by byte and has', () => {
  test.each(HEADS)('%s is refused, and later bytes are not read', async (_fault, toText, status, form) => {
    await expectRefused(sendByteByByte, toText().replace('{path}', API), status, form);
  });
});

const END = `0${CRLF}${CRLF}`;

/** Faulty chunked bodies after a valid request head. */
const BODIES: [what: string, body: string][] = [
  ...['x', '-5', '+5', '0x5', '10000000000000005', '', ' 5', '5 ', '5;\0'].map((size): [string, string] => [
    `the chunk size ${JSON.stringify(size)}`,
    `${size}${CRLF}hello${CRLF}${END}`,
  ]),
  ['a chunk size that ends in a bare line feed', `5\nhello${CRLF}${END}`],
  ['a chunk extension that ends in a bare line feed', `5;a\nhello${CRLF}${END}`],
  ['chunk data that is too long', `5${CRLF}hello!${CRLF}${END}`],
  ['chunk data that ends in a bare line feed', `5${CRLF}hello\n${END}`],
  ['chunk data that ends in a bare carriage return', `5${CRLF}hello\r${END}`],
  ['a bare line feed after the last chunk', `5${CRLF}hello${CRLF}0\n${CRLF}`],
  ['a trailer without a colon', `5${CRLF}hello${CRLF}0${CRLF}nonsense${CRLF}${CRLF}`],
  ['a trailer with a space in its name', `5${CRLF}hello${CRLF}0${CRLF}a b: c${CRLF}${CRLF}`],
  ['a folded trailer', `5${CRLF}hello${CRLF}0${CRLF}A: b${CRLF} c${CRLF}${CRLF}`],
  ['chunk extensions of more than 16 KiB', `5;${'a'.repeat(17_000)}${CRLF}hello${CRLF}${END}`],
];

const upload = () => head(`POST ${API} HTTP/1.1`, 'Host: x', CHUNKED);

describe.each([
  ['an upload', sendWhole, BODIES],
  ['an upload that arrives byte by byte', sendByteByByte, BODIES.slice(0, -1)],
])('%s is aborted and never reaches the service in full if its body has', (_what, send, bodies) => {
  test.each(bodies)('%s', async (_fault, body) => {
    const response = await send(upload() + body + hidden());
    expect(response).toMatch(BARE);
    expect(response).toMatch(/^HTTP\/1.1 400 /);
    await expectNothingHidden();
  });
});

test('a malformed chunk during an upstream request makes the gateway abort that request', async () => {
  const ended = new Promise<boolean>((resolve) => {
    testApp.intercept = (req) => Boolean(req.resume().once('close', () => resolve(req.complete)));
  });
  const client = await openConnection(testApp.config.port);
  client.socket.write(`${upload()}10000${CRLF}${'x'.repeat(65_536)}${CRLF}`); // enough to start the upstream request
  await eventually(async () => testApp.serviceRequests.length > 0);
  client.socket.write(`x${CRLF}${hidden()}`);
  expect(await ended).toBe(false);
  await client.closed;
  expect(client.text()).toMatch(BARE);
  expect(client.text()).toMatch(/^HTTP\/1.1 400 /);
});

test.each(TARGETS)(
  '%s with an empty Transfer-Encoding has no body, and the connection closes if further bytes follow',
  async (_what, path) => {
    const request = head(`POST ${path} HTTP/1.1`, 'Host: x', 'Transfer-Encoding:') + BODY;
    expect(await sendRaw(testApp, request + hidden())).not.toMatch(/HTTP\/1\.1 [23]/);
    await sendRaw(testApp, head('GET /api/public/v1/last HTTP/1.1', 'Host: x', 'Connection: close'));
    expect(testApp.serviceRequests.map(({ url }) => url)).toEqual(['/api/public/v1/last']);
  },
);

test.each(['Transfer_Encoding: chunked', 'Transfer.Encoding: chunked', 'Transfer-Encoding_: chunked'])(
  'the field %s does not affect the framing of the body in Cloakroom or at the service',
  async (field) => {
    const fieldLines = ['Host: x', 'Connection: close', 'Content-Length: 5', field];
    await sendRaw(testApp, `${head(`POST ${API} HTTP/1.1`, ...fieldLines)}hello`);
    expect(whole).toEqual(['hello']);
    const names = Object.keys(testApp.serviceRequests[0]?.headers ?? {}).join();
    expect(names).not.toMatch(/transfer[_.-]encoding(,|$)/);
  },
);

test.each([
  ['an API request', API],
  ['a page', '/healthz'],
])('%s with Upgrade gets an ordinary response, and its connection closes', async (_what, path) => {
  const upgrade = head(`GET ${path} HTTP/1.1`, 'Host: x', 'Connection: upgrade', 'Upgrade: websocket');
  const response = await sendRaw(testApp, upgrade + hidden());
  expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  expect(response).toMatch(/\r\nconnection: close\r\n/i);
  expect(testApp.serviceRequests.map(({ url }) => url)).not.toContain(HIDDEN);
});
