import type { Grant } from '../../src/session/record.ts';
import { exchangeBytes, openConnection } from './raw-client.ts';
import { readMessage } from './raw-message.ts';
import { startTestApp } from './test-app.ts';
import { startRawService } from './raw-service.ts';

/** Browsers send this field with every request from Cloakroom's pages. */
const SAME_ORIGIN = 'Sec-Fetch-Site: same-origin';

/** Starts Cloakroom in front of a raw service, with a session whose token is `a-valid-token`. */
export async function startRawApp(env: Readonly<Record<string, string>> = {}) {
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
    /** Creates another session for later requests. Resolves with the session id. */
    async createSession(grant?: Partial<Grant>) {
      const session = await testApp.createSession(grant);
      ({ cookie } = session);
      return session.id;
    },
    /** Returns the head of a request in the session, including the final empty line. */
    head,
    /** Sends one request over a new connection. Resolves with the raw response. */
    async send(requestLine: string, fields: readonly string[] = [], body: Uint8Array | string = '') {
      const bytes = [head(requestLine, ['Connection: close', ...fields]), Buffer.from(body)];
      const response = readMessage(await exchangeBytes(testApp.config.port, Buffer.concat(bytes)));
      if (response === null) throw new Error('The connection was closed without a response.');
      return response;
    },
    /** Starts a request. Resolves with the connections of client and service once the service has the request head. */
    async begin(requestLine: string, fields: readonly string[] = [], body = '') {
      const taken = service.takeNextConnection();
      const browser = await openConnection(testApp.config.port);
      browser.socket.write(Buffer.concat([head(requestLine, fields), Buffer.from(body)]));
      const atService = await taken;
      await atService.until('\r\n\r\n');
      return { browser, service: atService };
    },
    /** Returns the only request that has reached the service since the last call. */
    takeRequest() {
      const [request, ...more] = service.requests.splice(0);
      if (request === undefined || more.length > 0) {
        throw new Error(`${request === undefined ? 'no' : 'more than one'} request reached the service`);
      }
      return request;
    },
    async [Symbol.asyncDispose]() {
      await testApp[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}
