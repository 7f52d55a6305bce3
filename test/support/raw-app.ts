import type { Grant } from '../../src/session/record.ts';
import { exchangeBytes } from './raw.ts';
import { openConnection, type RawEnd } from './raw-client.ts';
import { readMessage, type RawMessage } from './raw-message.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import { startRawService, type RawRequest, type RawService } from './raw-service.ts';

/** What our own page sends with every call, and what only the gateway reads. */
const SAME_ORIGIN = 'Sec-Fetch-Site: same-origin';

/** Cloakroom before a service that speaks bytes, and a session to call with, whose token is `a-living-token`. */
export interface RawApp extends AsyncDisposable {
  readonly testApp: TestApp;
  readonly service: RawService;
  /** Begins another session, for the calls from now on. */
  createSession(grant?: Partial<Grant>): Promise<void>;
  /** The head of a call of the session's, up to and with its empty line. */
  head(requestLine: string, fields?: readonly string[]): Buffer;
  /** Sends one call over a connection of its own; gives the answer as it came. */
  send(requestLine: string, fields?: readonly string[], body?: Uint8Array | string): Promise<RawMessage>;
  /** Begins a call, and leaves both ends of it to the test once its head has come to the service. */
  begin(
    requestLine: string,
    fields?: readonly string[],
    body?: string,
  ): Promise<{ readonly browser: RawEnd; readonly service: RawEnd }>;
  /** The one request that has come to the service since the last time. */
  came(): RawRequest;
}

/** Starts both; `env` adds to Cloakroom's variables. */
export async function startRawApp(env: Readonly<Record<string, string>> = {}): Promise<RawApp> {
  const service = await startRawService();
  const testApp = await startTestApp({ SERVICE_URL: service.origin, ...env });
  let { cookie } = await testApp.createSession();

  const head = (requestLine: string, fields: readonly string[] = []) => {
    const lines = [`${requestLine} HTTP/1.1`, 'Host: x', `Cookie: ${cookie}`, SAME_ORIGIN, ...fields];
    return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  };
  return {
    testApp,
    service,
    async createSession(grant) {
      ({ cookie } = await testApp.createSession(grant));
    },
    head,
    async send(requestLine, fields = [], body = '') {
      const bytes = [head(requestLine, ['Connection: close', ...fields]), Buffer.from(body)];
      const answer = readMessage(await exchangeBytes(testApp.config.port, Buffer.concat(bytes)));
      if (answer === null) throw new Error('The connection was closed without an answer.');
      return answer;
    },
    async begin(requestLine, fields = [], body = '') {
      const taken = service.takeNext();
      const browser = await openConnection(testApp.config.port);
      browser.socket.write(Buffer.concat([head(requestLine, fields), Buffer.from(body)]));
      const atService = await taken;
      await atService.until('\r\n\r\n');
      return { browser, service: atService };
    },
    came() {
      const [request, ...more] = service.requests.splice(0);
      if (request === undefined || more.length > 0) {
        throw new Error(`${request === undefined ? 'no' : 'more than one'} request came to the service`);
      }
      return request;
    },
    async [Symbol.asyncDispose]() {
      await testApp[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}
