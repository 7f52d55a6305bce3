import type { Wait } from '../../../../src/workspaces/export/all-items.ts';
import { TOKEN_PATH } from '../../../support/constants.ts';
import { startTestApp, type TestApp } from '../../../support/test-app.ts';
import { openConnection, type RawEnd } from '../../../support/raw-client.ts';
import { dechunk, readMessage, valuesOf, type RawMessage } from '../../../support/raw-message.ts';
import { json } from '../../../support/raw-service.ts';
import { exchangeBytes } from '../../../support/raw.ts';
import { startSmallService, type Interception, type SmallService } from '../small-service.ts';

/** A response as received. */
interface ExportResponse {
  readonly status: number;
  readonly head: RawMessage;
  /** Null where the last chunk is missing: the response was cut off. */
  readonly body: string | null;
}

/** Cloakroom in front of a small service, and a session for each test. */
export interface ExportApp extends AsyncDisposable {
  readonly testApp: TestApp;
  readonly service: SmallService;
  /** The list of the service. A test may change it at any time. */
  readonly items: unknown[];
  /** Responds in the service's place. */
  intercept: Interception;
  /** Passes the pauses of an export: by default, it only moves the clock. */
  wait: Wait;
  /** The pauses so far, in ms. */
  readonly pauses: number[];
  /** Number of token requests. They give out `token-1`, `token-2` and so on. */
  refreshes(): number;
  /** Resets everything but the clock. Returns the `Cookie` header of a new session. */
  begin(items: readonly unknown[]): Promise<string>;
  /** Reads a response to its end, whether or not it is complete. */
  get(path: string, cookie: string, fields?: readonly string[]): Promise<ExportResponse>;
  /** Sends a request. The test reads the response. */
  open(path: string, cookie: string): Promise<RawEnd>;
}

/** `env` adds to Cloakroom's variables. */
export async function startExportApp(env: Readonly<Record<string, string>> = {}): Promise<ExportApp> {
  const items: unknown[] = [];
  const pauses: number[] = [];
  let refreshes = 0;
  const passTime: Wait = async (ms) => testApp.advance(ms);
  const own = { intercept: (() => false) as Interception, wait: passTime };
  const service = await startSmallService(items, (request, socket, nth) => {
    const response = own.intercept(request, socket, nth);
    if (response !== false || request.target !== TOKEN_PATH) return response;
    refreshes += 1;
    return json(200, { access_token: `token-${refreshes}`, expires_in: 900 });
  });
  const testApp = await startTestApp({ SERVICE_URL: service.origin, ...env }, async (ms, signal) => {
    pauses.push(ms);
    await own.wait(ms, signal);
  });
  const request = (path: string, cookie: string, fields: readonly string[] = []) =>
    Buffer.from([`GET ${path} HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, ...fields, '', ''].join('\r\n'));

  return Object.assign(own, {
    testApp,
    service,
    items,
    pauses,
    refreshes: () => refreshes,
    async begin(listed: readonly unknown[]) {
      own.intercept = () => false;
      own.wait = passTime;
      pauses.length = 0;
      refreshes = 0;
      service.requests.length = 0;
      service.cursors.length = 0;
      testApp.logged.length = 0;
      items.splice(0, items.length, ...listed);
      return (await testApp.createSession()).cookie;
    },
    async get(path: string, cookie: string, fields: readonly string[] = []) {
      const bytes = await exchangeBytes(
        testApp.config.port,
        request(path, cookie, ['Connection: close', ...fields]),
      );
      const head = readMessage(bytes);
      if (head === null) throw new Error('the connection was closed without a response');
      const chunked = valuesOf(head, 'transfer-encoding').length > 0;
      const body = chunked ? dechunk(head.rest) : head.rest;
      return { status: Number(head.start.split(' ')[1]), head, body: body?.toString('utf8') ?? null };
    },
    async open(path: string, cookie: string) {
      const end = await openConnection(testApp.config.port);
      end.socket.write(request(path, cookie));
      return end;
    },
    async [Symbol.asyncDispose]() {
      await testApp[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  });
}

/** A field of a response's head. */
export function fieldOf({ head }: ExportResponse, name: string): string | undefined {
  return valuesOf(head, name)[0];
}

/** What an NDJSON export of these items is. */
export function toLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
