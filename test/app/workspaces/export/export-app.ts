import type { Wait } from '../../../../src/workspaces/export/all-items.ts';
import { TOKEN_PATH } from '../../../support/constants.ts';
import { eventLoopTurns } from '../../../support/event-loop.ts';
import { eventually } from '../../../support/eventually.ts';
import { exchangeBytes, openConnection } from '../../../support/raw-client.ts';
import { dechunk, readMessage, valuesOf, type RawMessage } from '../../../support/raw-message.ts';
import { json } from '../../../support/raw-service.ts';
import { startTestApp } from '../../../support/test-app.ts';
import { startSmallService, type Interception } from '../small-service.ts';

/** A response as the client received it. */
interface ExportResponse {
  readonly status: number;
  readonly head: RawMessage;
  /** Null if the response was cut off before the last chunk. */
  readonly body: string | null;
}

/** Starts Cloakroom in front of a small service, with a session for each test. `env` adds environment variables. */
export async function startExportApp(env: Readonly<Record<string, string>> = {}) {
  const items: unknown[] = [];
  const pauses: number[] = [];
  let refreshes = 0;
  let openResponses = 0;
  const passTime: Wait = async (ms) => testApp.advanceClock(ms);
  const mutable = {
    /** Responds in place of the service. */
    intercept: (() => false) as Interception,
    /** Handles each pause in an export. The default only advances the clock. */
    wait: passTime,
  };
  const service = await startSmallService(items, (request, socket, nth) => {
    const response = mutable.intercept(request, socket, nth);
    if (response !== false || request.target !== TOKEN_PATH) return response;
    refreshes += 1;
    return json(200, { access_token: `token-${refreshes}`, expires_in: 900 });
  });
  const testApp = await startTestApp({ SERVICE_URL: service.origin, ...env }, async (ms, signal) => {
    pauses.push(ms);
    await mutable.wait(ms, signal);
  });
  testApp.running.server.on('request', (_req, res) => {
    openResponses += 1;
    res.once('close', () => (openResponses -= 1));
  });
  const toRequest = (path: string, cookie: string, fields: readonly string[] = []) =>
    Buffer.from([`GET ${path} HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, ...fields, '', ''].join('\r\n'));

  /** Resolves once all responses, even to disconnected clients, have ended and the service has received all requests. */
  const idle = async () => {
    await eventually(async () => openResponses === 0);
    await eventLoopTurns(20);
  };

  return Object.assign(mutable, {
    testApp,
    service,
    /** The items that the service lists, which tests may change at any time. */
    items,
    /** The pauses so far, in ms. */
    pauses,
    /** Returns the number of token requests so far. The n-th response contains `token-n`. */
    refreshes: () => refreshes,
    idle,

    /** Waits for earlier tests to finish and resets everything but the clock. Returns the `Cookie` header for a new session. */
    async begin(listed: readonly unknown[], intercept: Interception = () => false): Promise<string> {
      await idle();
      Object.assign(mutable, { intercept, wait: passTime });
      refreshes = 0;
      for (const list of [pauses, service.requests, service.cursors, testApp.logged]) list.length = 0;
      items.splice(0, items.length, ...listed);
      return (await testApp.createSession()).cookie;
    },

    /** Sends a request and reads the response until it ends or is cut off. */
    async get(path: string, cookie: string, fields: readonly string[] = []): Promise<ExportResponse> {
      const request = toRequest(path, cookie, ['Connection: close', ...fields]);
      const head = readMessage(await exchangeBytes(testApp.config.port, request));
      if (head === null) throw new Error('the connection was closed without a response');
      const chunked = valuesOf(head, 'transfer-encoding').length > 0;
      const body = chunked ? dechunk(head.rest) : head.rest;
      return { status: Number(head.start.split(' ')[1]), head, body: body?.toString('utf8') ?? null };
    },

    /** Sends a request and leaves reading the response to the test. */
    async open(path: string, cookie: string, fields: readonly string[] = []) {
      const end = await openConnection(testApp.config.port);
      end.socket.write(toRequest(path, cookie, fields));
      return end;
    },

    async [Symbol.asyncDispose]() {
      await testApp[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  });
}

/** Returns a header field of a response. */
export function fieldOf({ head }: ExportResponse, name: string): string | undefined {
  return valuesOf(head, name)[0];
}

/** Returns the NDJSON export of these items. */
export function toNdjson(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
