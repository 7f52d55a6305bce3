import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeEach, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../../support/constants.ts';
import { send } from '../../support/fleet/requests.ts';
import type { Cloakroom } from '../../support/fleet/cloakroom.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { createBarrier, holdResponse, type Barrier } from '../../support/fleet/barrier.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const SHUTDOWN_SECONDS = 2;
const PAST_SHUTDOWN_MS = 1_000 * SHUTDOWN_SECONDS + 500;

const fleet = useFleet({ service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' } });
let leaving: Cloakroom;
beforeEach(async () => {
  fleet.service.reset();
  leaving = await fleet.add({ SHUTDOWN_SECONDS: String(SHUTDOWN_SECONDS) });
});

function holdTokenResponses(): Barrier {
  const barrier = createBarrier();
  barrier.hold();
  fleet.service.intercept = ({ url }, res) => {
    if (url === TOKEN_PATH) holdResponse(res, barrier);
    return false;
  };
  return barrier;
}

/** Releases a barrier after this time, to simulate a slow service. */
async function releaseAfter(ms: number, barrier: Barrier): Promise<void> {
  using watch = startStopwatch();
  await eventually(async () => watch.ms() > ms);
  barrier.release();
}

async function expectRefreshed(session: TestSession): Promise<void> {
  const stored = await fleet.storedGrant(session);
  expect(stored).not.toBeNull();
  expect(stored?.accessToken).not.toBe(session.grant.accessToken);
}

test('a refresh in progress at SIGTERM still gets the full TOKEN_TIMEOUT_SECONDS', async () => {
  const barrier = holdTokenResponses();
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const cutOff = send(leaving.url, session.cookie);
  await barrier.reached();
  const exitCode = leaving.stop();
  await releaseAfter(PAST_SHUTDOWN_MS + 2_000, barrier); // an earlier version gave refreshes only two more seconds
  expect(await exitCode).toBe(1); // the request took longer than the drain
  await cutOff;
  await expectRefreshed(session);
  expect(await send(fleet.at(0).url, session.cookie)).toMatchObject({ status: 200 });
  expect(fleet.service.refreshes).toHaveLength(1);
});

test('a process exits with 1 if a background refresh takes longer than SHUTDOWN_SECONDS', async () => {
  const barrier = holdTokenResponses();
  const session = await fleet.createSession('demo', { expiresAt: Date.now() + 20_000 });
  expect(await send(leaving.url, session.cookie)).toMatchObject({ status: 200 });
  await barrier.reached();
  const exitCode = leaving.stop();
  await releaseAfter(PAST_SHUTDOWN_MS, barrier);
  expect(await exitCode).toBe(1);
  expect(leaving.logged().at(-1)).toMatchObject({ msg: 'shutdown complete', inTime: false });
  await expectRefreshed(session);
});

test('a draining process does not start a refresh that could outlast the process', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const upload = httpRequest(`${leaving.url}/api/public/v1/workspaces`, {
    method: 'POST',
    agent: false,
    headers: { cookie: session.cookie, 'x-requested-with': 'x', 'content-length': '2' },
  });
  upload.write('x');
  const refused = new Promise<IncomingMessage>((resolve) => upload.once('response', resolve));
  await eventually(async () => upload.socket?.bytesWritten !== undefined && upload.socket.bytesWritten > 0);
  await send(leaving.url, '', { path: '/healthz' }); // once this request is served, the upload has arrived as well
  const exitCode = leaving.stop();
  await eventually(async () => leaving.logged().some(({ msg }) => msg === 'draining'));
  upload.end('x');
  const response = await refused;
  expect([response.statusCode, await text(response)]).toEqual([
    503,
    expect.stringContaining('token_endpoint_unavailable'),
  ]);
  expect(await exitCode).toBe(0);
  expect(fleet.service.refreshes).toEqual([]);
  expect(await send(fleet.at(0).url, session.cookie)).toMatchObject({ status: 200 });
});
