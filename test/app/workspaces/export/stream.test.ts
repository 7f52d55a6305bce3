import { randomBytes } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { AppError } from '../../../../src/errors.ts';
import { attachContext } from '../../../../src/http/request-context.ts';
import { createDeferred } from '../../../../src/promises.ts';
import type { Session } from '../../../../src/session/record.ts';
import { NDJSON } from '../../../../src/workspaces/export/json.ts';
import { streamExport } from '../../../../src/workspaces/export/stream.ts';
import { eventually } from '../../../support/eventually.ts';
import { json, response } from '../../../support/raw-service.ts';
import { exchangeBytes } from '../../../support/raw-client.ts';
import { eventLoopTurns } from '../../../support/event-loop.ts';
import { workspaces, type Interception } from '../small-service.ts';
import { startExportApp, toNdjson } from './export-app.ts';
import { useFixture } from '../../../support/fixtures.ts';

// In these tests, problems occur after the first page, when the response head has already been sent.

const exporter = useFixture(async () => startExportApp());

const ITEMS = workspaces(537);

/** Responds to the n-th request for a list, counted from 1. */
function onRequest(nth: number, respond: Interception): Interception {
  let requests = 0;
  return (request, socket) => {
    if (request.target.includes('/oauth2/')) return false;
    requests += 1;
    return requests === nth && respond(request, socket, nth);
  };
}

/** Resolves with the log lines of the exports that failed after their first page. */
async function cuts(): Promise<Readonly<Record<string, string>>[]> {
  await exporter.idle();
  const lines = exporter.testApp.logged.filter((line) => /"cutOff":true,.*"code"/.test(line));
  return lines.map((line) => JSON.parse(line) as Record<string, string>);
}

async function expectCutOff(cookie: string, code: string, why = ''): Promise<void> {
  const { status, head, body } = await exporter.get('/workspaces.ndjson', cookie);
  expect([status, body]).toEqual([200, null]);
  const [cut = {}, ...more] = await cuts();
  expect([cut['code'], more]).toEqual([code, []]);
  expect(head.fields).toContainEqual(['x-request-id', cut['requestId']]);
  expect(cut['cause'] ?? '').toMatch(why);
}

async function expectComplete(cookie: string, items: readonly unknown[] = ITEMS): Promise<void> {
  expect((await exporter.get('/workspaces.ndjson', cookie)).body).toBe(toNdjson(items));
  expect(await cuts()).toEqual([]);
}

/** Makes all cursors expire before the fourth request. */
function expireCursors(change = () => {}): Interception {
  return onRequest(4, () => {
    change();
    exporter.service.expireCursors();
    return false;
  });
}

describe('an export continues', () => {
  test('after a pause that the service requests', async () => {
    const pause = onRequest(3, () => response(429, '', 'Retry-After: 20'));
    await expectComplete(await exporter.begin(ITEMS, pause));
    expect(exporter.pauses).toEqual([20_000]);
    expect(exporter.service.requests).toHaveLength(7);
  });

  test('through any number of refreshes', async () => {
    let accepted = 'a-valid-token';
    const cookie = await exporter.begin(ITEMS, ({ target, headers }) => {
      if (target.includes('/oauth2/')) {
        accepted = `token-${exporter.refreshes() + 1}`;
        return false;
      }
      if (headers['authorization'] !== `Bearer ${accepted}`) return json(401, { code: 'TOKEN_EXPIRED' });
      // The service refuses this token for the next page. A token younger than 30 s would not be refreshed.
      accepted = 'the next one';
      exporter.testApp.advanceClock(31_000);
      return false;
    });
    await expectComplete(cookie);
    expect(exporter.refreshes()).toBe(5);
  });

  test('after an expired cursor, without repeating items', async () => {
    await expectComplete(await exporter.begin(ITEMS, expireCursors()));
    expect(exporter.service.requests).toHaveLength(4 + 6);
  });

  test('even if cursors keep expiring, as long as each pass finds a new item', async () => {
    const expired = new Set<string>();
    const cookie = await exporter.begin(ITEMS, ({ next }) => {
      // The service refuses the first request for each page after the first page.
      const offset = next?.split('?')[1];
      if (offset === undefined || expired.has(offset)) return false;
      expired.add(offset);
      return json(400, { code: 'NEXT_TOKEN_EXPIRED' });
    });
    await expectComplete(cookie);
    expect(expired.size).toBe(5);
  });

  test('even if the service divides the list into different pages in the second pass', async () => {
    const toPage = (from: number, to: number, next?: string) => ({ value: ITEMS.slice(from, to), next });
    const firstPass = [toPage(0, 100, 'a'), toPage(100, 130, 'b'), null];
    const pages = [...firstPass, toPage(0, 120, 'c'), toPage(120, 200, 'd'), toPage(200, 210)];
    const cookie = await exporter.begin([], (_request, _socket, nth) => {
      const page = pages[nth - 1] ?? null;
      return json(page === null ? 400 : 200, page);
    });
    await expectComplete(cookie, ITEMS.slice(0, 210));
  });

  test('past items without an id and past items that changed but kept their id', async () => {
    const rest = [...Array.from({ length: 60 }, (_, n) => ({ text: n })), 'a', null, ...ITEMS.slice(0, 100)];
    const items = [...ITEMS.slice(0, 150), ...rest];
    const change = () => (exporter.items[0] = { id: 'w1', name: 'Another name' });
    await expectComplete(await exporter.begin(items, expireCursors(change)), items);
  });
});

describe('an export is cut off', () => {
  test.each([
    ['an item is missing', () => exporter.items.splice(5, 1)],
    ['an item is new', () => exporter.items.unshift({ id: 'w0', name: 'New' })],
    ['two items have swapped places', () => exporter.items.splice(0, 2, ITEMS[1], ITEMS[0])],
    ['an id has a different type', () => exporter.items.splice(0, 1, { id: 1 })],
    ['the list has become shorter', () => exporter.items.splice(150)],
    ['no item is left', () => exporter.items.splice(0)],
  ])('when a cursor has expired and the list has changed (%s)', async (_what, change) => {
    const cookie = await exporter.begin(ITEMS, expireCursors(change));
    const why = 'the list has changed since its first pages were sent';
    await expectCutOff(cookie, 'service_response_unreadable', why);
  });

  test('when its cursors never lead to a new item', async () => {
    const { cursors, requests } = exporter.service;
    const cookie = await exporter.begin(
      ITEMS,
      ({ next }) => next !== null && cursors.length > 2 && json(400, {}),
    );
    const why = 'the cursors of the list expire before the list ends';
    await expectCutOff(cookie, 'service_response_unreadable', why);
    // The first pass sends four requests, and the service refuses the last. Three more passes send two requests each.
    expect(requests).toHaveLength(4 + 3 * 2);
  });

  test('when a cursor is repeated', async () => {
    const cookie = await exporter.begin([], (_request, _socket, nth) =>
      json(200, { value: [{ id: nth }], next: nth % 2 === 0 ? 'even' : 'odd' }),
    );
    await expectCutOff(cookie, 'service_response_unreadable', 'the list leads back to an earlier page');
    expect(exporter.service.requests).toHaveLength(3);
  });

  const HALF_A_PAGE = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value":[';
  const endWith = (bytes: string): Interception => {
    return (_request, socket) => {
      socket.end(bytes);
      return null;
    };
  };
  const refuseTwice: Interception = () => {
    exporter.intercept = onRequest(1, () => json(401, {}));
    return json(401, {});
  };

  test.each([
    ['fails', 'service_failed', () => json(500, {})],
    ['closes the connection', 'service_unreachable', endWith('')],
    ['sends half a page', 'service_unreachable', endWith(HALF_A_PAGE)],
    ['sends invalid JSON', 'service_response_unreadable', () => response(200, 'secret-data')],
    ['refuses two tokens', 'service_refuses_sign_in', refuseTwice],
  ] satisfies [string, string, Interception][])('when the service %s', async (_what, code, respond) => {
    await expectCutOff(await exporter.begin(ITEMS, onRequest(3, respond)), code);
    expect(exporter.testApp.logged.join('')).not.toMatch(/secret-data|Workspace 1|a-valid-token|token-1/);
  });

  test('when a later item does not fit into the table', async () => {
    const cookie = await exporter.begin([...workspaces(150), 'text']);
    expect((await exporter.get('/workspaces.csv', cookie)).body).toBeNull();
    expect(await cuts()).toMatchObject([{ code: 'list_not_tabular' }]);
  });

  test('when the user signs out', async () => {
    const signOut = onRequest(3, (_request, socket) => {
      void fetch(`${exporter.testApp.origin}/auth/logout`, {
        method: 'POST',
        headers: { cookie, 'x-requested-with': 'test', accept: 'application/json' },
      }).then(() => socket.write(json(200, { value: ITEMS.slice(0, 100), next: 'more' })));
      return null;
    });
    const cookie = await exporter.begin(ITEMS, signOut);
    await expectCutOff(cookie, 'session_expired');
    expect(exporter.service.requests.filter(({ limit }) => limit !== null)).toHaveLength(3);
  });

  test('with a reset if a closed connection would mark the end of the body (HTTP/1.0)', async () => {
    const failure = onRequest(3, () => json(500, {}));
    const cookie = await exporter.begin(ITEMS, failure);
    const request = `GET /workspaces.csv HTTP/1.0\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`;
    const bytes = exchangeBytes(exporter.testApp.config.port, Buffer.from(request));
    await expect(bytes).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('a client that disconnects', () => {
  test('aborts the request in flight', async () => {
    let aborted = false;
    const hold = onRequest(3, (_request, socket) => {
      socket.once('close', () => (aborted = true));
      return null;
    });
    const cookie = await exporter.begin(ITEMS, hold);
    const reader = await exporter.open('/workspaces.csv', cookie);
    await eventually(async () => exporter.service.requests.length === 3);
    reader.socket.destroy();
    await eventually(async () => aborted);
    expect(await cuts()).toEqual([]);
  });

  test('ends the pause in its export, so another export may start immediately', async () => {
    const pause = response(429, '', 'Retry-After: 60');
    const cookie = await exporter.begin(ITEMS, ({ next }) => next !== null && pause);
    exporter.wait = async (ms, signal) => delay(ms, undefined, { signal });
    for (let times = 1; times <= 3; times += 1) {
      const reader = await exporter.open('/workspaces.csv', cookie);
      await reader.until('HTTP/1.1 200');
      await eventually(async () => exporter.pauses.length === times);
      reader.socket.destroy();
      await exporter.idle();
    }
    expect(await cuts()).toEqual([]);
  });

  test('before its session is read does not count towards the export limit', async () => {
    const cookie = await exporter.begin(workspaces(250));
    for (let visit = 0; visit < 30; visit += 1) {
      const reader = await exporter.open('/workspaces.csv', cookie);
      await eventLoopTurns(visit % 10);
      reader.socket.destroy();
    }
    const bothStart = async () => {
      const paths = ['/workspaces.csv', '/workspaces.ndjson'];
      const both = await Promise.all(paths.map(async (path) => exporter.get(path, cookie)));
      return both.every(({ status }) => status === 200);
    };
    await expect(eventually(bothStart)).resolves.toBeUndefined();
  });
});

test.each(['identity', 'gzip'])('an export waits while its client stops reading (%s)', async (coding) => {
  // 200 pages of 4 MB, which is many times the size of the socket buffers. gzip looks back only 32 KiB.
  const text = randomBytes(30_000).toString('base64');
  const cookie = await exporter.begin(Array.from({ length: 20_000 }, (_, id) => ({ id, text })));
  const reader = await exporter.open('/workspaces.ndjson', cookie, [`Accept-Encoding: ${coding}`]);
  await reader.until('HTTP/1.1 200');
  reader.socket.pause();
  const requests = () => exporter.service.requests.length;
  let before: number;
  do {
    before = requests();
    await eventLoopTurns(2_000);
  } while (requests() > before);
  expect(before).toBeLessThan(20);

  reader.socket.resume();
  await eventually(async () => requests() > before);
  reader.socket.destroy();
});

const CODINGS = ['identity', 'br', 'gzip'];

const EXPORT = { session: {} as Session, path: '', format: NDJSON, fileName: '' };

/** Creates a response that is sent through a stream instead of a socket. */
function respondTo(stream: Writable): ServerResponse {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  res.assignSocket(stream as Socket);
  res.once('finish', () => res.emit('close')); // as a server does
  attachContext(res, { requestId: '', trace: null, session: undefined, token: undefined });
  return res;
}

test.each([undefined, 'br', 'gzip'] as const)(
  'an export is in progress until it has been sent (%s)',
  async (coding) => {
    const { promise: isReading, resolve: startReading } = createDeferred<void>();
    const socket = new Writable({ write: (_chunk, _encoding, done) => void isReading.then(() => done()) });
    const res = respondTo(socket);
    let isOver = false;
    const exported = streamExport(res, { ...EXPORT, coding }, async function* () {
      yield ['{}'];
    }).then(() => (isOver = true));
    await eventually(async () => res.writableEnded);
    await eventLoopTurns(10);
    expect(isOver).toBe(false);
    startReading();
    await exported;
  },
);

test.each(['br', 'gzip'] as const)(
  'an export that fails on its second page has sent its head (%s)',
  async (coding) => {
    const sent: Buffer[] = [];
    const socket = new Writable({ write: (chunk: Buffer, _encoding, done) => done(void sent.push(chunk)) });
    await streamExport(respondTo(socket), { ...EXPORT, coding }, async function* () {
      yield ['{}'];
      throw new AppError('service_unreachable');
    });
    // The compressor runs in another thread, so its first bytes may follow.
    expect(Buffer.concat(sent).toString('latin1')).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:\S+: .*\r\n)+\r\n/);
  },
);

/** Starts an NDJSON export that `fetch` decodes. */
async function openDecoded(cookie: string, coding: string) {
  const headers = { cookie, 'accept-encoding': coding };
  const opened = await fetch(`${exporter.testApp.origin}/workspaces.ndjson`, { headers });
  expect(opened.headers.get('content-encoding') ?? 'identity').toBe(coding);
  return opened;
}

test.each(CODINGS)('an export that fails never looks complete (%s)', async (coding) => {
  const failure = onRequest(3, () => json(500, {}));
  const opened = await openDecoded(await exporter.begin(ITEMS, failure), coding);
  await expect(opened.text()).rejects.toThrow('terminated');
});

test.each(CODINGS)('an export sends a page before the next page has arrived (%s)', async (coding) => {
  const items = workspaces(150);
  let respond = () => {};
  const cookie = await exporter.begin(items, ({ next }, socket) => {
    if (next === null) return false;
    respond = () => socket.write(json(200, { value: items.slice(100) }));
    return null;
  });
  let text = '';
  for await (const part of (await openDecoded(cookie, coding)).body ?? []) {
    text += Buffer.from(part).toString();
    if (!text.endsWith('"Workspace 100"}\n')) continue;
    await eventually(async () => exporter.service.requests.length === 2);
    respond();
  }
  expect(text).toBe(toNdjson(items));
});

test('a drain waits for an export in progress', async () => {
  await using own = await startExportApp();
  let respond = () => {};
  const cookie = await own.begin(ITEMS, ({ next }, socket) => {
    if (next !== own.service.cursors[1]) return false;
    respond = () => socket.write(json(200, { value: [{ id: 'the last' }] }));
    return null;
  });
  const reader = await own.open('/workspaces.ndjson', cookie);
  await eventually(async () => own.service.requests.length === 3);
  const drained = own.testApp.running.drain(60_000);
  await eventually(async () => (await fetch(`${own.testApp.origin}/healthz`).catch(() => null)) === null);
  respond();
  expect(await reader.closed).toBe('end');
  expect(reader.text()).toMatch(/"the last"[^]*\r\n0\r\n\r\n$/);
  expect(await drained).toBe(true);
});
