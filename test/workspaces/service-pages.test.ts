import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createServiceClient } from '../../src/platform/service-client.ts';
import type { ServiceClient } from '../../src/platform/service-client.ts';
import type { Ticket } from '../../src/session/record.ts';
import { createServicePages } from '../../src/workspaces/service-pages.ts';
import { startRawService } from '../support/raw-service.ts';
import type { RawService } from '../support/raw-service.ts';

// Where all connections to the service are taken, and nobody gives one back.

let service: RawService;
let client: ServiceClient;
let held: Promise<unknown>;
beforeAll(async () => {
  service = await startRawService();
  service.answer = () => null;
  client = createServiceClient({ origin: service.origin, connections: 1, timeoutSeconds: 60 });
  held = client.request({ method: 'GET', path: '/held' }).catch((error: unknown) => error);
});
afterAll(async () => {
  await client.destroy();
  await held;
  await service[Symbol.asyncDispose]();
});

async function askPage(timeoutSeconds: number, signal: AbortSignal): Promise<unknown> {
  const tokens = { accessToken: () => Promise.resolve('a-living-token') };
  const readPages = createServicePages({ service: client, tokens, timeoutSeconds, now: Date.now });
  const ticket = {} as Ticket; // the tokens are those above, whoever asks
  return readPages({ ticket, path: '/things', limit: 25, requestId: 'one', signal })(undefined);
}

test('a page gives up in time', async () => {
  const never = new AbortController();
  await expect(askPage(0.1, never.signal)).rejects.toMatchObject({ status: 504, code: 'service_timeout' });
});

test('a page of which the reader has gone is not waited for', async () => {
  const gone = new AbortController();
  const page = askPage(60, gone.signal);
  const left = new Error('left');
  gone.abort(left);
  await expect(page).rejects.toBe(left);
});
