import type { Wait } from '../../../../src/workspaces/export/all-items.ts';
import { TOKEN_PATH } from '../../../support/constants.ts';
import { startTestApp } from '../../../support/test-app.ts';
import type { TestApp } from '../../../support/test-app.ts';
import { openConnection } from '../../../support/raw-client.ts';
import type { RawEnd } from '../../../support/raw-client.ts';
import { dechunk, readMessage, valuesOf } from '../../../support/raw-message.ts';
import type { RawMessage } from '../../../support/raw-message.ts';
import { json } from '../../../support/raw-service.ts';
import { exchangeBytes } from '../../../support/raw.ts';
import { startSmallService } from '../small-service.ts';
import type { Interception, SmallService } from '../small-service.ts';

/** An answer as it came over the wire. */
interface ExportAnswer {
  readonly status: number;
  readonly head: RawMessage;
  /** Null where the answer was cut off: its last chunk never came. */
  readonly body: string | null;
}

/** The whole of Cloakroom before a small service, and a session of its own for each test that asks for one. */
export interface ExportApp extends AsyncDisposable {
  readonly testApp: TestApp;
  readonly service: SmallService;
  /** What the service lists; a test may change it at any time. */
  readonly items: unknown[];
  /** Answers a call of a list in the service's place. */
  intercept: Interception;
  /** Spends a pause that the service asks for: at once, as the clock goes, where a test says nothing else. */
  wait: Wait;
  /** The pauses that were spent, in ms. */
  readonly pauses: number[];
  /** How many calls of the token endpoint there were; each gives out `token-1`, `token-2` and so on. */
  renewals(): number;
  /** Everything as at the start, but for the clock; gives the `Cookie` header of a new session. */
  begin(items: readonly unknown[]): Promise<string>;
  /** The whole answer, whether or not it comes to its end. */
  get(path: string, cookie: string, fields?: readonly string[]): Promise<ExportAnswer>;
  /** Asks, and leaves the reading to the test. */
  open(path: string, cookie: string): Promise<RawEnd>;
}

/** `env` adds to Cloakroom's variables. */
export async function startExportApp(env: Readonly<Record<string, string>> = {}): Promise<ExportApp> {
  const items: unknown[] = [];
  const pauses: number[] = [];
  let renewals = 0;
  const passTime: Wait = async (ms) => testApp.advance(ms);
  const own = { intercept: (() => false) as Interception, wait: passTime };
  const service = await startSmallService(items, (call, socket, nth) => {
    const response = own.intercept(call, socket, nth);
    if (response !== false || call.target !== TOKEN_PATH) return response;
    renewals += 1;
    return json(200, { access_token: `token-${renewals}`, expires_in: 900 });
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
    renewals: () => renewals,
    async begin(listed: readonly unknown[]) {
      own.intercept = () => false;
      own.wait = passTime;
      pauses.length = 0;
      renewals = 0;
      service.calls.length = 0;
      service.given.length = 0;
      testApp.logged.length = 0;
      items.splice(0, items.length, ...listed);
      return (await testApp.enter()).cookie;
    },
    async get(path: string, cookie: string, fields: readonly string[] = []) {
      const bytes = await exchangeBytes(
        testApp.config.port,
        request(path, cookie, ['Connection: close', ...fields]),
      );
      const head = readMessage(bytes);
      if (head === null) throw new Error('the connection was closed without an answer');
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

/** A field of an answer's head. */
export function fieldOf({ head }: ExportAnswer, name: string): string | undefined {
  return valuesOf(head, name)[0];
}

/** What an NDJSON export of these items is. */
export function toLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('');
}
