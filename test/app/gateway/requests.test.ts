import { METHODS } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startRawApp, type RawApp } from '../../support/raw-app.ts';
import { valuesOf, without } from '../../support/raw-message.ts';

// What comes to the service, byte by byte.

const raw = useFixture(async () => startRawApp({ MAX_BODY_BYTES: '10000000' }));
beforeEach(() => {
  raw.service.requests.length = 0;
});

/** What the gateway and the connection to the service bring; all else is the browser's. */
const OURS = ['host', 'connection', 'authorization', 'x-request-id', 'via', 'content-length'];
/** What the gateway itself reads of the calls here, and passes on. */
const SENT = ['Sec-Fetch-Site', 'same-origin'] as const;
const FORWARDED = METHODS.filter((method) => method !== 'TRACE' && method !== 'CONNECT');
const bytesFrom = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

describe('a request', () => {
  test.each(FORWARDED)(
    '%s arrives with its line and the client’s fields, and none but the gateway’s',
    async (method) => {
      const answer = await raw.send(`${method} ${PATH}?a=1`, ['X-One: 1']);
      const request = raw.came();
      expect(request.start).toBe(`${method} ${PATH}?a=1 HTTP/1.1`);
      expect(without(request, OURS)).toEqual([SENT, ['X-One', '1']]);
      expect(valuesOf(request, 'host')).toEqual([raw.service.host]);
      expect(valuesOf(request, 'connection').join('|')).toMatch(/^(?:keep-alive|close)$/);
      expect(valuesOf(request, 'authorization')).toEqual(['Bearer a-living-token']);
      expect(valuesOf(request, 'x-request-id')).toEqual(valuesOf(answer, 'x-request-id'));
      expect(valuesOf(request, 'via')).toEqual(['1.1 cloakroom']);
      // Where a method expects a body, saying that there is none means the same as not saying it (RFC 9110 §8.6).
      expect(['', '0']).toContain(valuesOf(request, 'content-length').join('|'));
      expect(request.rest).toHaveLength(0);
    },
  );

  test.each(FORWARDED)('%s arrives with its body', async (method) => {
    await raw.send(`${method} ${PATH}`, ['Content-Type: text/plain', 'Content-Length: 5'], 'hello');
    const request = raw.came();
    expect(without(request, OURS)).toEqual([SENT, ['Content-Type', 'text/plain']]);
    expect(valuesOf(request, 'content-length')).toEqual(['5']);
    expect(request.rest.toString()).toBe('hello');
  });

  test('keeps the order, the case and the repetitions of its fields, and what is in them', async () => {
    const fields = [
      ['b-Lower', 'b'],
      ['ACCEPT', '*/*'],
      ['X-Twice', 'one'],
      ['a-between', '1,2 ,  3'],
      ['x-twice', 'two'],
      ['X-Empty', ''],
      ['X-Quoted', '"a\\"b"; c=\'d\'; {e}'],
      ['X-Bytes', String.fromCharCode(...bytesFrom(0x80, 0xff))],
      ['X-Tab', 'a\tb'],
      ['Content-Type', 'a/b'],
      ['content-type', 'c/d'],
      ["!#$%&'*+-.^_`|~1", 'every mark of a name'],
      ['User-Agent', 'one'],
    ] as const;
    await raw.send(
      `GET ${PATH}`,
      fields.map((field) => field.join(': ')),
    );
    expect(without(raw.came(), OURS)).toEqual([SENT, ...fields]);
  });

  test('keeps a long field', async () => {
    const value = 'v'.repeat(15_000);
    await raw.send(`GET ${PATH}`, [`X-Long: ${value}`]);
    expect(valuesOf(raw.came(), 'x-long')).toEqual([value]);
  });
});

describe('a query', () => {
  test('keeps every byte that may stand in one', async () => {
    const marks = String.fromCharCode(...bytesFrom(0x21, 0x7e)).replace('#', '');
    const target = `${PATH}?${marks}`;
    await raw.send(`GET ${target}`);
    expect(raw.came().start).toBe(`GET ${target} HTTP/1.1`);
  });

  test('keeps what it spells in percent, of every byte and in either case', async () => {
    const spelt = bytesFrom(0, 0xff).map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
    const target = `${PATH}?${spelt.join('')}&${spelt.join('').toUpperCase()}&%zz%2&+`;
    await raw.send(`GET ${target}`);
    expect(raw.came().start).toBe(`GET ${target} HTTP/1.1`);
  });

  test.each(['?', '??', '?a?b', '?a=/../b//c;d', '?=&&=', '?x='])('comes as it is: %s', async (query) => {
    await raw.send(`GET ${PATH}${query}`);
    expect(raw.came().start).toBe(`GET ${PATH}${query} HTTP/1.1`);
  });

  test.each([...bytesFrom(0x00, 0x20), 0x23, ...bytesFrom(0x7f, 0xff)])(
    'with byte %i, that may not stand in one, is refused or comes as it is',
    async (byte) => {
      const target = `${PATH}?a${String.fromCharCode(byte)}b`;
      const { start } = await raw.send(`GET ${target}`);
      const came = raw.service.requests.map((request) => request.start);
      expect([start.slice(9, 12), ...came]).toEqual(
        start.startsWith('HTTP/1.1 200 ') && byte >= 0x80 ? ['200', `GET ${target} HTTP/1.1`] : ['400'],
      );
    },
  );

  test('keeps 15 KB', async () => {
    const target = `${PATH}?${'q'.repeat(15_000)}`;
    await raw.send(`GET ${target}`);
    expect(raw.came().start).toBe(`GET ${target} HTTP/1.1`);
  });
});

test('a path keeps its encodings, its marks and its slash at the end', async () => {
  const target = `${PATH}/a%2Fb;c=d/%e2%82%AC/%41~!$&'()*+,=:@|^"<>{}\`[]/`;
  await raw.send(`GET ${target}`);
  expect(raw.came().start).toBe(`GET ${target} HTTP/1.1`);
});
