import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../../../support/eventually.ts';
import { json, response } from '../../../support/raw-service.ts';
import { exchangeBytes } from '../../../support/raw.ts';
import { workspaces } from '../small-service.ts';
import type { Interception } from '../small-service.ts';
import { startExportApp, toLines } from './export-app.ts';
import type { ExportApp } from './export-app.ts';

// What an export goes through after its first page, when its head has been sent.

let bench: ExportApp;
beforeAll(async () => {
  bench = await startExportApp();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const ITEMS = workspaces(537);
const waitInReality: ExportApp['wait'] = async (ms, signal) => delay(ms, undefined, { signal });

/** The n-th call of a list (counted from 1) is answered like this, all others as usual. */
function onCall(nth: number, answer: Interception): Interception {
  let calls = 0;
  return (call, socket) => {
    if (call.target.includes('/oauth2/')) return false;
    calls += 1;
    return calls === nth && answer(call, socket, nth);
  };
}

interface CutLine {
  readonly level: string;
  readonly code: string;
  readonly requestId: string;
  readonly err: { readonly cause?: { readonly message: string } };
}

/** The log lines of exports that were cut off. */
function cuts(): CutLine[] {
  const lines = bench.testApp.logged.filter((line) => line.includes('"export cut off"'));
  return lines.map((line) => JSON.parse(line) as CutLine);
}

async function expectCutOff(cookie: string, code: string, why = ''): Promise<void> {
  const { status, head, body } = await bench.get('/workspaces.ndjson', cookie);
  expect(status).toBe(200);
  expect(body).toBeNull();
  const [cut, ...more] = cuts();
  expect(more).toEqual([]);
  expect(cut).toMatchObject({ level: 'warn', code });
  expect(head.fields).toContainEqual(['x-request-id', cut?.requestId]);
  expect(cut?.err.cause?.message ?? '').toMatch(why);
}

async function expectWhole(cookie: string, items: readonly unknown[] = ITEMS): Promise<void> {
  expect((await bench.get('/workspaces.ndjson', cookie)).body).toBe(toLines(items));
  expect(cuts()).toEqual([]);
}

describe('goes on', () => {
  test('after a pause that the service asks for', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(3, () => response(429, '', 'Retry-After: 20'));
    await expectWhole(cookie);
    expect(bench.pauses).toEqual([20_000]);
    expect(bench.service.calls).toHaveLength(7);
  });

  test('through any number of renewals', async () => {
    const cookie = await bench.begin(ITEMS);
    let taken = 'a-living-token';
    bench.intercept = (call) => {
      if (call.target.includes('/oauth2/')) {
        taken = `token-${bench.renewals() + 1}`;
        return false;
      }
      if (call.headers['authorization'] !== `Bearer ${taken}`) return json(401, { code: 'TOKEN_EXPIRED' });
      // One page later this one is refused as well. A younger token would not be refreshed after that.
      taken = 'the next one';
      bench.testApp.advance(31_000);
      return false;
    };
    await expectWhole(cookie);
    expect(bench.renewals()).toBe(5);
  });

  test('with a token that was renewed before it is spent', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(3, () => {
      bench.testApp.advance(901_000);
      return false;
    });
    await expectWhole(cookie);
    expect(bench.renewals()).toBe(1);
    const tokens = bench.service.calls.map(({ headers }) => headers['authorization']).filter(Boolean);
    expect([...new Set(tokens)]).toEqual(['Bearer a-living-token', 'Bearer token-1']);
  });

  test('when the token endpoint was away for a moment', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.wait = waitInReality; // Redis, too, must have forgotten the attempt before
    let refusals = 0;
    bench.intercept = (call) => {
      if (call.next === bench.service.given[1] && call.headers['authorization'] === 'Bearer a-living-token') {
        return json(401, {});
      }
      if (!call.target.includes('/oauth2/') || refusals === 1) return false;
      refusals += 1;
      return response(503);
    };
    await expectWhole(cookie);
    expect([refusals, bench.renewals()]).toEqual([1, 1]);
  });

  test('when a token has expired: it walks again past what was sent', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(4, () => {
      bench.service.expireTokens();
      return false;
    });
    await expectWhole(cookie);
    expect(bench.service.calls).toHaveLength(4 + 6);
  });

  test('when tokens expire again and again, as long as there is something new each time', async () => {
    const cookie = await bench.begin(ITEMS);
    const expired = new Set<string>();
    bench.intercept = (call) => {
      // Each page but the first is first asked for with a token that is not taken.
      const offset = call.next?.split('?')[1];
      if (offset === undefined || expired.has(offset)) return false;
      expired.add(offset);
      return json(400, { code: 'NEXT_TOKEN_EXPIRED' });
    };
    await expectWhole(cookie);
    expect(expired.size).toBe(5);
  });

  test('past pages that are cut in other places the second time', async () => {
    const cookie = await bench.begin([]);
    const page = (from: number, to: number, next?: string) => ({ value: ITEMS.slice(from, to), next });
    const pages = [
      page(0, 100, 'a'),
      page(100, 130, 'b'),
      null,
      page(0, 120, 'c'),
      page(120, 200, 'd'),
      page(200, 210),
    ];
    bench.intercept = (_call, _socket, nth) => {
      const answer = pages[nth - 1] ?? null;
      return json(answer === null ? 400 : 200, answer);
    };
    await expectWhole(cookie, ITEMS.slice(0, 210));
  });

  test('past items that have changed but are the same ones, and items without an id', async () => {
    const rest = [...Array.from({ length: 60 }, (_, n) => ({ text: n })), 'a', null, ...ITEMS.slice(0, 100)];
    const items = [...ITEMS.slice(0, 150), ...rest];
    const cookie = await bench.begin(items);
    bench.intercept = onCall(4, () => {
      bench.items[0] = { id: 'w1', name: 'Another name' };
      bench.service.expireTokens();
      return false;
    });
    await expectWhole(cookie, items);
  });
});

describe('is cut off', () => {
  test.each([
    ['an item is gone', () => bench.items.splice(5, 1)],
    ['an item is new', () => bench.items.unshift({ id: 'w0', name: 'New' })],
    ['two have changed places', () => bench.items.splice(0, 2, ITEMS[1], ITEMS[0])],
    ['an id has another type', () => bench.items.splice(0, 1, { id: 1 })],
    ['the list has become short', () => bench.items.splice(150)],
    ['nothing is left', () => bench.items.splice(0)],
  ])('when a token has expired and the list has changed: %s', async (_what, change) => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(4, () => {
      change();
      bench.service.expireTokens();
      return false;
    });
    await expectCutOff(
      cookie,
      'service_response_unreadable',
      'the list has changed since its first pages were sent',
    );
  });

  test('when its tokens never get it any further', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = ({ next }) => next !== null && bench.service.given.length > 2 && json(400, {});
    await expectCutOff(
      cookie,
      'service_response_unreadable',
      'the cursors of the list expire before the list ends',
    );
    // Three pages, and the fourth is refused; then three times the first, and the second is refused.
    expect(bench.service.calls).toHaveLength(4 + 3 * 2);
  });

  test('when a token comes a second time', async () => {
    const cookie = await bench.begin([]);
    bench.intercept = (_call, _socket, nth) =>
      json(200, { value: [{ id: nth }], next: nth % 2 === 0 ? 'even' : 'odd' });
    await expectCutOff(cookie, 'service_response_unreadable', 'the list leads back to an earlier page');
    expect(bench.service.calls).toHaveLength(3);
  });

  test.each([
    ['fails', 'service_failed', () => json(500, {})],
    [
      'breaks off',
      'service_unreachable',
      (_call, socket) => {
        socket.destroy();
        return null;
      },
    ],
    [
      'sends half a page',
      'service_unreachable',
      (_call, socket) => {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value":[');
        return null;
      },
    ],
    ['sends no JSON', 'service_response_unreadable', () => response(200, 'secret-data')],
    [
      'refuses two tokens',
      'service_refuses_sign_in',
      () => {
        bench.intercept = onCall(1, () => json(401, {}));
        return json(401, {});
      },
    ],
  ] satisfies [string, string, Interception][])('when the service %s', async (_what, code, answer) => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(3, answer);
    await expectCutOff(cookie, code);
    expect(bench.testApp.logged.join('')).not.toMatch(/secret-data|Workspace 1|a-living-token|token-1/);
  });

  test('when an item does not fit into the table that was begun', async () => {
    const cookie = await bench.begin([...workspaces(150), 'text']);
    expect((await bench.get('/workspaces.csv', cookie)).body).toBeNull();
    expect(cuts()).toMatchObject([{ code: 'list_not_tabular' }]);
  });

  test('when the user signs out meanwhile', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(3, (_call, socket) => {
      void fetch(`${bench.testApp.origin}/auth/logout`, {
        method: 'POST',
        headers: { cookie, 'x-requested-with': 'test', accept: 'application/json' },
      }).then(() => socket.write(json(200, { value: ITEMS.slice(0, 100), next: 'more' })));
      return null;
    });
    await expectCutOff(cookie, 'session_expired');
    expect(bench.service.calls.filter(({ limit }) => limit !== null)).toHaveLength(3);
  });

  test('with a reset where only the end of the connection would end it (HTTP/1.0)', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.intercept = onCall(3, () => json(500, {}));
    const request = `GET /workspaces.csv HTTP/1.0\r\nHost: x\r\nCookie: ${cookie}\r\n\r\n`;
    await expect(exchangeBytes(bench.testApp.config.port, Buffer.from(request))).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
  });
});

describe('ends with its reader', () => {
  const isDue = (calls: number) => async () => bench.service.calls.length === calls;

  test('the call that is under way is aborted', async () => {
    const cookie = await bench.begin(ITEMS);
    let aborted = false;
    bench.intercept = onCall(3, (_call, socket) => {
      socket.once('close', () => (aborted = true));
      return null;
    });
    const reader = await bench.open('/workspaces.csv', cookie);
    await eventually(isDue(3));
    reader.socket.destroy();
    await eventually(async () => aborted);
    expect(cuts()).toEqual([]);
  });

  test('a pause is not waited for, and its place is free at once', async () => {
    const cookie = await bench.begin(ITEMS);
    bench.wait = waitInReality;
    bench.intercept = ({ next }) => next !== null && response(429, '', 'Retry-After: 60');
    for (let times = 0; times < 3; times += 1) {
      const calls = bench.service.calls.length;
      const reader = await bench.open('/workspaces.csv', cookie);
      await reader.until('HTTP/1.1 200');
      await eventually(isDue(calls + 2));
      reader.socket.destroy();
      const ended = () => bench.testApp.logged.filter((line) => line.includes('"msg":"request"')).length;
      await eventually(async () => ended() === times + 1);
    }
    expect(cuts()).toEqual([]);
  });
});
