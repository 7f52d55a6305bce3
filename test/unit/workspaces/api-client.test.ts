import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { NOTES } from '../../support/request-notes.ts';
import { createDeferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import type { Session } from '../../../src/session/record.ts';
import { createServiceCalls } from '../../../src/workspaces/api-client.ts';
import { createServicePages } from '../../../src/workspaces/service-pages.ts';
import { ok, startRawService } from '../../support/raw-service.ts';
import type { RawService } from '../../support/raw-service.ts';
import { turns } from '../../support/turns.ts';

// The one connection to the service is taken, and not given back before the test says so.

let service: RawService;
let client: ConnectionPool;
let giveBack: () => void;
let held: Promise<unknown>;
beforeEach(async () => {
  const { promise: isTaken, resolve } = createDeferred<void>();
  service = await startRawService();
  service.answer = (_request, socket) => {
    giveBack = () => socket.write(ok());
    service.answer = () => ok('{"value":[]}');
    resolve();
    return null;
  };
  client = new ConnectionPool({ origin: service.origin, connections: 1, timeoutMs: 60_000 });
  held = client.request({ method: 'GET', path: '/held' }).then(async ({ body }) => body.dump());
  await isTaken;
});
afterEach(async () => {
  giveBack();
  await held;
  await client.destroy();
  await service[Symbol.asyncDispose]();
});

async function askPage(timeoutSeconds: number, signal = new AbortController().signal): Promise<unknown> {
  const tokens = { accessToken: async () => 'a-living-token', tokenAfterUnauthorized: async () => null };
  const readPages = createServicePages(
    createServiceCalls({ service: client, tokens, timeoutSeconds }),
    Date.now,
  );
  const ticket = {} as Session; // the tokens are those above, whoever asks
  return readPages({ ticket, path: '/things', limit: 25, notes: NOTES, signal })(undefined);
}

const TOO_LATE = { status: 504, code: 'service_timeout' };

test('a page that waits gives up in time', async () => {
  await expect(askPage(0.1)).rejects.toMatchObject(TOO_LATE);
});

test.each([
  ['already', 0],
  ['while it waits', 20],
])('a page of which the reader has gone %s is not waited for', async (_when, after) => {
  const gone = new AbortController();
  const page = askPage(60, gone.signal);
  await turns(after);
  const left = new Error('left');
  gone.abort(left);
  await expect(page).rejects.toBe(left);
});

test('a page that has given up is never asked for, and takes no connection with it', async () => {
  await expect(askPage(0.1)).rejects.toMatchObject(TOO_LATE);
  giveBack();
  expect(await askPage(60)).toMatchObject({ items: [] });
  const asked = service.requests.map(({ start }) => start);
  expect(asked).toEqual(['GET /held HTTP/1.1', 'GET /things?limit=25 HTTP/1.1']);
});
