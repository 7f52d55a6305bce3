import { describe, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { useFixture } from '../../../support/fixtures.ts';
import { json, response } from '../../../support/raw-service.ts';
import { workspaces } from '../small-service.ts';
import { fieldOf, startExportApp, toNdjson } from './export-app.ts';

const exporter = useFixture(async () => {
  const app = await startExportApp({ WORKSPACE_ITEMS: 'rooms,whiteboards' });
  app.testApp.advanceClockToNoon();
  return app;
});

const today = () => new Date(exporter.testApp.services.now()).toISOString().slice(0, 10);

test('an NDJSON export has the items from all pages in order, one per line, and requests pages of the maximum size', async () => {
  const items = workspaces(537);
  const { status, body } = await exporter.get('/workspaces.ndjson', await exporter.begin(items));
  expect([status, body]).toEqual([200, toNdjson(items)]);
  const { requests, cursors } = exporter.service;
  expect(requests.map(({ limit }) => limit)).toEqual(Array.from({ length: 6 }, () => '100'));
  expect(requests.map(({ next }) => next)).toEqual([null, ...cursors]);
});

test('a CSV export has the items from all pages in order, one per row', async () => {
  const items = workspaces(537);
  const { body } = await exporter.get('/workspaces.csv', await exporter.begin(items));
  expect(parse(body ?? '', { columns: true, record_delimiter: '\r\n' })).toEqual(items);
});

test.each([
  ['csv', 'text/csv; charset=utf-8; header=present'],
  ['ndjson', 'application/x-ndjson'],
])('a %s export is a chunked attachment that is never cached or sniffed', async (extension, type) => {
  const result = await exporter.get(`/workspaces.${extension}`, await exporter.begin(workspaces(1)));
  expect(fieldOf(result, 'content-type')).toBe(type);
  expect(fieldOf(result, 'content-disposition')).toBe(
    `attachment; filename="workspaces-${today()}.${extension}"`,
  );
  expect(fieldOf(result, 'transfer-encoding')).toBe('chunked');
  expect(fieldOf(result, 'content-length')).toBeUndefined();
  expect(fieldOf(result, 'cache-control')).toBe('no-store');
  expect(fieldOf(result, 'x-content-type-options')).toBe('nosniff');
  expect(fieldOf(result, 'x-request-id')).toBeDefined();
});

test('the file name of an export contains the kind of item and the workspace id', async () => {
  const cookie = await exporter.begin([{ id: 7, name: 'Room' }]);
  const result = await exporter.get('/workspaces/workspace1234.16%C3%BC%22x/whiteboards.csv', cookie);
  expect(result.body).toBe('id,name\r\n7,Room\r\n');
  expect(exporter.service.requests[0]?.target).toBe(
    '/api/public/v1/workspaces/workspace1234.16%C3%BC%22x/whiteboards?limit=100',
  );
  expect(fieldOf(result, 'content-disposition')).toBe(
    `attachment; filename="whiteboards-workspace1234-16-x-${today()}.csv"`,
  );
});

test.each([
  '/workspaces/w1/murals.csv',
  '/workspaces/w1/rooms.json',
  '/workspaces/a%2Fb/rooms.csv',
  '/workspaces/..%2Fsecrets/rooms.csv',
  '/workspaces/%3Bx/rooms.ndjson',
])('%s is not an export', async (path) => {
  const { status } = await exporter.get(path, await exporter.begin([]));
  expect(status).toBe(404);
  expect(exporter.service.requests).toEqual([]);
});

test('an empty list is exported as an empty NDJSON file or as a CSV file with only a header row', async () => {
  const cookie = await exporter.begin([]);
  expect((await exporter.get('/workspaces.ndjson', cookie)).body).toBe('');
  expect((await exporter.get('/workspaces.csv', cookie)).body).toBe('id,name\r\n');
});

test('a HEAD request gets the same headers as a GET request, without causing an upstream request', async () => {
  const cookie = await exporter.begin(workspaces(5));
  const result = await fetch(`${exporter.testApp.origin}/workspaces.csv`, {
    method: 'HEAD',
    headers: { cookie },
  });
  expect(result.status).toBe(200);
  expect(result.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
  expect(result.headers.get('content-disposition')).toMatch(/^attachment; /);
  expect(exporter.service.requests).toEqual([]);
});

test.each([
  ['/workspaces.csv', '/workspaces'],
  ['/workspaces.ndjson', '/workspaces'],
  ['/workspaces/w1/rooms.csv', '/workspaces/w1/rooms'],
  ['/workspaces/w1.csv/rooms.ndjson', '/workspaces/w1.csv/rooms'],
])('a request for %s without a session leads to sign-in and then to the list', async (path, list) => {
  await exporter.begin([]);
  const result = await fetch(exporter.testApp.origin + path, { redirect: 'manual' });
  expect(result.status).toBe(303);
  expect(result.headers.get('location')).toBe(`/auth/login?return_to=${encodeURIComponent(list)}`);
});

test('a client whose session has ended is sent to sign-in and then to the list', async () => {
  await exporter.begin([], () => json(400, { error: 'invalid_grant' }));
  const { cookie } = await exporter.testApp.createSession({ expiresAt: 0 });
  const result = await exporter.get('/workspaces/w1/rooms.csv', cookie);
  expect(result.status).toBe(303);
  expect(fieldOf(result, 'location')).toBe('/auth/login?return_to=%2Fworkspaces%2Fw1%2Frooms');
});

describe('an export keeps', () => {
  const ITEM = String.raw`{"id":9007199254740993,"a":1.50,"__proto__":{"x":null},"a":"\u0041\ud800\/","b":[1, -0]}`;
  const LINES = [{ id: 1, name: 'a  b\n c', list: [1, { deep: ' ' }] }, { id: 2 }];
  const ON_ONE_LINE = ['{"id": 1,"name": "a  b\\n c","list": [1,{"deep": " "}]}', '{"id": 2}'];

  test.each([
    [
      'large numbers, repeated names, escapes and spaces',
      'ndjson',
      String.raw`{"value":[0], "val\u0075e" : [ ${ITEM} , "text",null , 2.0]}`,
      `${ITEM}\n"text"\nnull\n2.0\n`,
    ],
    [
      'an item on one line, even if the service sent it on several lines',
      'ndjson',
      JSON.stringify({ value: LINES }, null, 2),
      `${ON_ONE_LINE.join('\n')}\n`,
    ],
    [
      'large numbers',
      'csv',
      '{"value":[{"id":9007199254740993,"cost":0.10}]}',
      'id,cost\r\n9007199254740993,0.10\r\n',
    ],
  ])('%s (%s)', async (_what, extension, sent, exported) => {
    const cookie = await exporter.begin([], () => response(200, sent, 'Content-Type: application/json'));
    expect((await exporter.get(`/workspaces.${extension}`, cookie)).body).toBe(exported);
  });
});

describe('a failure to read the first page', () => {
  test.each([
    [429, 503, 'Too many requests just now'],
    [403, 403, 'You don’t have access to this list'],
    [404, 404, 'This list can’t be found'],
    [500, 502, 'This list can’t be loaded'],
    [400, 502, 'This list can’t be loaded'],
  ])('results in an error page (the service responds with a %i)', async (given, status, words) => {
    const cookie = await exporter.begin([], () => json(given, {}));
    const result = await exporter.get('/workspaces.csv', cookie);
    expect(result.status).toBe(status);
    expect(result.body).toContain(words);
    expect(fieldOf(result, 'content-type')).toBe('text/html; charset=utf-8');
    expect(fieldOf(result, 'content-disposition')).toBeUndefined();
    expect(exporter.service.requests).toHaveLength(1);
  });

  test('results in a page with a sign-in link and a link back to the list if signing in could help', async () => {
    const cookie = await exporter.begin([], () => json(403, {}));
    const { body } = await exporter.get('/workspaces/w1/rooms.csv', cookie);
    expect(body).toContain('href="/auth/login?return_to=%2Fworkspaces%2Fw1%2Frooms">Sign in again</a>');
    expect(body).toMatch(/<a href="\/workspaces\/w1\/rooms">.*Back to the list/);
  });

  test('results in a problem for a client that prefers JSON', async () => {
    const cookie = await exporter.begin([], () => response(429, '', 'Retry-After: 7'));
    const result = await exporter.get('/workspaces.ndjson', cookie, ['Accept: application/json']);
    expect(fieldOf(result, 'retry-after')).toBe('7');
    expect(JSON.parse(result.body ?? '')).toMatchObject({ status: 503, code: 'service_rate_limited' });
  });

  test('results in an error page if the list can be exported as NDJSON but not as a table', async () => {
    const cookie = await exporter.begin([{ id: 1 }, 'text']);
    const result = await exporter.get('/workspaces.csv', cookie);
    expect(result.status).toBe(502);
    expect(result.body).toContain('Export the list as NDJSON instead');
    expect((await exporter.get('/workspaces.ndjson', cookie)).body).toBe('{"id":1}\n"text"\n');
  });
});

test('a third export in a session gets a 429 until another export has ended', async () => {
  const release: (() => void)[] = [];
  const cookie = await exporter.begin(workspaces(150), ({ next }, socket) => {
    if (next === null) return false;
    release.push(() => socket.write(json(200, { value: [] })));
    return null;
  });
  const open = async (extension: string, owner = cookie) => {
    const end = await exporter.open(`/workspaces.${extension}`, owner);
    await end.until('HTTP/1.1 200');
    return end;
  };
  const first = await open('csv');
  const second = await open('ndjson');

  const third = await exporter.get('/workspaces.csv', cookie);
  expect(third.status).toBe(429);
  expect(fieldOf(third, 'retry-after')).toBe('10');
  expect(third.body).toContain('Two exports are already running');
  expect(third.body).toContain('href="/workspaces.csv">Try again</a>');
  const other = await open('csv', (await exporter.testApp.createSession()).cookie);

  first.socket.destroy();
  await first.closed;
  exporter.intercept = () => false;
  release.forEach((respond) => respond());
  await second.until('\r\n0\r\n\r\n');
  expect((await exporter.get('/workspaces.csv', cookie)).status).toBe(200);
  for (const end of [second, other]) end.socket.destroy();
});
