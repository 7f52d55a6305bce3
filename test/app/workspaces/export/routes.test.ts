import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { json, response } from '../../../support/raw-service.ts';
import { workspaces } from '../small-service.ts';
import { fieldOf, startExportApp, toLines } from './export-app.ts';
import type { ExportApp } from './export-app.ts';

let bench: ExportApp;
beforeAll(async () => {
  bench = await startExportApp({ WORKSPACE_ITEMS: 'rooms,whiteboards' });
  bench.testApp.advanceToNoon();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const today = () => new Date(bench.testApp.services.now()).toISOString().slice(0, 10);

test('NDJSON holds all pages in their order, one item a line', async () => {
  const items = workspaces(537);
  const { status, body } = await bench.get('/workspaces.ndjson', await bench.begin(items));
  expect(status).toBe(200);
  expect(body).toBe(toLines(items));
});

test('CSV holds all pages in their order, one item a row', async () => {
  const items = workspaces(537);
  const { body } = await bench.get('/workspaces.csv', await bench.begin(items));
  expect(parse(body ?? '', { columns: true, record_delimiter: '\r\n' })).toEqual(items);
});

test('The pages are as large as the service makes them, and the same limit goes with every token', async () => {
  await bench.get('/workspaces.ndjson', await bench.begin(workspaces(537)));
  expect(bench.service.calls.map(({ limit }) => limit)).toEqual(Array.from({ length: 6 }, () => '100'));
  expect(bench.service.calls.map(({ next }) => next)).toEqual([null, ...bench.service.given]);
});

test.each([
  ['csv', 'text/csv; charset=utf-8; header=present'],
  ['ndjson', 'application/x-ndjson'],
])(
  'A %s is a file to keep, of a length that nobody knows, and never cached or guessed at',
  async (extension, type) => {
    const answer = await bench.get(`/workspaces.${extension}`, await bench.begin(workspaces(1)));
    expect(fieldOf(answer, 'content-type')).toBe(type);
    expect(fieldOf(answer, 'content-disposition')).toBe(
      `attachment; filename="workspaces-${today()}.${extension}"`,
    );
    expect(fieldOf(answer, 'transfer-encoding')).toBe('chunked');
    expect(fieldOf(answer, 'content-length')).toBeUndefined();
    expect(fieldOf(answer, 'cache-control')).toBe('no-store');
    expect(fieldOf(answer, 'x-content-type-options')).toBe('nosniff');
    expect(fieldOf(answer, 'x-request-id')).toBeDefined();
  },
);

test('The items of a workspace are exported as well, in a file named after both', async () => {
  const cookie = await bench.begin([{ id: 7, name: 'Room' }]);
  const answer = await bench.get('/workspaces/workspace1234.16%C3%BC%22x/whiteboards.csv', cookie);
  expect(answer.body).toBe('id,name\r\n7,Room\r\n');
  expect(bench.service.calls[0]?.target).toBe(
    '/api/public/v1/workspaces/workspace1234.16%C3%BC%22x/whiteboards?limit=100',
  );
  expect(fieldOf(answer, 'content-disposition')).toBe(
    `attachment; filename="whiteboards-workspace1234-16-x-${today()}.csv"`,
  );
});

test.each([
  '/workspaces/w1/murals.csv',
  '/workspaces/w1/rooms.json',
  '/workspaces/a%2Fb/rooms.csv',
  '/workspaces/..%2Fsecrets/rooms.csv',
  '/workspaces/%3Bx/rooms.ndjson',
])('%s is no export', async (path) => {
  const { status } = await bench.get(path, await bench.begin([]));
  expect(status).toBe(404);
  expect(bench.service.calls).toEqual([]);
});

test('An empty list is an empty NDJSON and a CSV with a header row', async () => {
  const cookie = await bench.begin([]);
  expect((await bench.get('/workspaces.ndjson', cookie)).body).toBe('');
  expect((await bench.get('/workspaces.csv', cookie)).body).toBe('id,name\r\n');
});

test('HEAD says what GET would send, and asks the service nothing', async () => {
  const cookie = await bench.begin(workspaces(5));
  const answer = await fetch(`${bench.testApp.origin}/workspaces.csv`, {
    method: 'HEAD',
    headers: { cookie },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
  expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /);
  expect(bench.service.calls).toEqual([]);
});

test.each([
  ['/workspaces.csv', '/workspaces'],
  ['/workspaces.ndjson', '/workspaces'],
  ['/workspaces/w1/rooms.csv', '/workspaces/w1/rooms'],
  ['/workspaces/w1.csv/rooms.ndjson', '/workspaces/w1.csv/rooms'],
])('Without a session %s leads to sign-in, and back to its list', async (path, list) => {
  await bench.begin([]);
  const answer = await fetch(bench.testApp.origin + path, { redirect: 'manual' });
  expect(answer.status).toBe(303);
  expect(answer.headers.get('location')).toBe(`/auth/login?return_to=${encodeURIComponent(list)}`);
});

test('A session that turns out to have ended leads to sign-in, and back to the list', async () => {
  await bench.begin([]);
  const { cookie } = await bench.testApp.enter({ expiresAt: 0 });
  bench.intercept = () => json(400, { error: 'invalid_grant' });
  const answer = await bench.get('/workspaces/w1/rooms.csv', cookie);
  expect(answer.status).toBe(303);
  expect(fieldOf(answer, 'location')).toBe('/auth/login?return_to=%2Fworkspaces%2Fw1%2Frooms');
});

describe('as the service gave it', () => {
  const ITEM = String.raw`{"id":9007199254740993,"a":1.50,"__proto__":{"x":null},"a":"\u0041\ud800\/","b":[1, -0]}`;
  const answerWith = (text: string) => {
    bench.intercept = () => response(200, text, 'Content-Type: application/json');
  };

  test('NDJSON keeps large numbers, repeated names, escapes and blanks', async () => {
    const cookie = await bench.begin([]);
    answerWith(String.raw`{"value":[0], "val\u0075e" : [ ${ITEM} , "text",null , 2.0]}`);
    expect((await bench.get('/workspaces.ndjson', cookie)).body).toBe(`${ITEM}\n"text"\nnull\n2.0\n`);
  });

  test('NDJSON keeps an item that came on several lines on one', async () => {
    const items = [{ id: 1, name: 'a  b\n c', list: [1, { deep: ' ' }] }, { id: 2 }];
    const cookie = await bench.begin([]);
    answerWith(JSON.stringify({ value: items }, null, 2));
    const lines = (await bench.get('/workspaces.ndjson', cookie)).body?.trimEnd().split('\n') ?? [];
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(items);
  });

  test('CSV keeps large numbers too', async () => {
    const cookie = await bench.begin([]);
    answerWith('{"value":[{"id":9007199254740993,"cost":0.10}]}');
    expect((await bench.get('/workspaces.csv', cookie)).body).toBe('id,cost\r\n9007199254740993,0.10\r\n');
  });
});

describe('a failure of the first page', () => {
  test.each([
    [429, 503, 'The service asks for a short pause'],
    [403, 403, 'Cloakroom has no access to this list'],
    [404, 404, 'There is nothing here'],
    [500, 502, 'The service could not load this page'],
    [400, 502, 'The service could not load this page'],
  ])('is a page in words: %i', async (given, status, words) => {
    const cookie = await bench.begin(workspaces(3));
    bench.intercept = () => json(given, {});
    const answer = await bench.get('/workspaces.csv', cookie);
    expect(answer.status).toBe(status);
    expect(answer.body).toContain(words);
    expect(fieldOf(answer, 'content-type')).toBe('text/html; charset=utf-8');
    expect(fieldOf(answer, 'content-disposition')).toBeUndefined();
    expect(bench.service.calls).toHaveLength(1);
  });

  test('leads, where new access may help, to sign-in and back to the list', async () => {
    const cookie = await bench.begin(workspaces(3));
    bench.intercept = () => json(403, {});
    const { body } = await bench.get('/workspaces/w1/rooms.csv', cookie);
    expect(body).toContain('href="/auth/login?return_to=%2Fworkspaces%2Fw1%2Frooms">Sign in again</a>');
    expect(body).toMatch(/<a href="\/workspaces\/w1\/rooms">.*Back to the list/);
  });

  test('is a problem to who prefers JSON', async () => {
    const cookie = await bench.begin([]);
    bench.intercept = () => response(429, '', 'Retry-After: 7');
    const answer = await bench.get('/workspaces.ndjson', cookie, ['Accept: application/json']);
    expect(fieldOf(answer, 'retry-after')).toBe('7');
    expect(JSON.parse(answer.body ?? '')).toMatchObject({ status: 503, code: 'service_rate_limited' });
  });

  test('is a page where the list fits no table, and NDJSON takes it', async () => {
    const cookie = await bench.begin([{ id: 1 }, 'text']);
    const answer = await bench.get('/workspaces.csv', cookie);
    expect(answer.status).toBe(502);
    expect(answer.body).toContain('Export it as NDJSON instead');
    expect((await bench.get('/workspaces.ndjson', cookie)).body).toBe('{"id":1}\n"text"\n');
  });
});

test('A third export of a session at a time is refused in words, until another has ended', async () => {
  const cookie = await bench.begin(workspaces(150));
  const release: (() => void)[] = [];
  bench.intercept = (call, socket) => {
    if (call.next === null) return false;
    release.push(() => socket.write(json(200, { value: [] })));
    return null;
  };
  const two = [await bench.open('/workspaces.csv', cookie), await bench.open('/workspaces.ndjson', cookie)];
  await Promise.all(two.map(async (end) => end.until('HTTP/1.1 200')));

  const third = await bench.get('/workspaces.csv', cookie);
  expect(third.status).toBe(429);
  expect(fieldOf(third, 'retry-after')).toBe('10');
  expect(third.body).toContain('Two exports are already running');
  expect(third.body).toContain('href="/workspaces.csv">Try again</a>');

  const other = (await bench.testApp.enter()).cookie;
  two.push(await bench.open('/workspaces.csv', other));
  await two[2]?.until('HTTP/1.1 200');

  two[0]?.socket.destroy();
  await two[0]?.over;
  bench.intercept = () => false;
  release.forEach((answer) => answer());
  await two[1]?.until('\r\n0\r\n\r\n');
  expect((await bench.get('/workspaces.csv', cookie)).status).toBe(200);
  for (const end of two) end.socket.destroy();
});
