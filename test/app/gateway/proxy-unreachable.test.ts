import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { expectProblem, type ExpectedProblem } from '../../support/problem-responses.ts';
import { createCertificate, type Certificate } from '../../support/certificate.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startUnresponsivePort } from '../../support/unresponsive-port.ts';
import { send } from '../../support/fleet/requests.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import type { RawConnection } from '../../support/raw-client.ts';
import { startRawService } from '../../support/raw-service.ts';

// These tests of unreachable services use real processes, so the errors are the same as in production.

const fleet = useFleet({ processes: 0 });

const UNREACHABLE = { status: 502, code: 'service_unreachable' };

/** Starts Cloakroom in front of the service at this URL and sends one request. */
async function requestAt(serviceUrl: string, env: Readonly<Record<string, string>> = {}) {
  const cloakroom = await fleet.add({ SERVICE_URL: serviceUrl, ALLOW_INSECURE_SERVICE: 'true', ...env });
  const sendAgain = async () => send(cloakroom.url, (await fleet.createSession()).cookie, { path: PATH });
  const lines = () => cloakroom.logged().map((line) => JSON.stringify(line));
  return { response: await sendAgain(), lines, sendAgain, kill: async () => cloakroom.kill() };
}

async function expectProblemAt(
  serviceUrl: string,
  cause: ExpectedProblem,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { response, lines, kill } = await requestAt(serviceUrl, env);
  await expectProblem(response, lines, cause);
  await kill();
}

/** Starts a TLS service with this certificate. */
async function startTlsService(certificate: Certificate) {
  const server = createServer(certificate, (_req, res) => res.end('over TLS'));
  server.on('tlsClientError', () => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Returns the environment variables that make a process trust this certificate. */
async function trust({ cert }: Certificate) {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  const file = join(folder, 'trusted.pem');
  await writeFile(file, cert);
  return {
    env: { NODE_EXTRA_CA_CERTS: file },
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}

describe('service_unreachable means', () => {
  test('a port without a listener', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await expectProblemAt(url, { ...UNREACHABLE, logged: /ECONNREFUSED/ });
  });

  test('an unknown host name', async () => {
    await expectProblemAt('http://unknown.invalid', { ...UNREACHABLE, logged: /ENOTFOUND|EAI_AGAIN/ });
  });

  test('an untrusted certificate', async () => {
    await using service = await startTlsService(createCertificate('localhost'));
    await expectProblemAt(service.url, { ...UNREACHABLE, logged: /SELF_SIGNED_CERT/ });
  });

  test('plain HTTP instead of TLS', async () => {
    await using service = await startRawService();
    const refuse = ({ socket }: RawConnection) =>
      socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n');
    void service.takeNextConnection().then(refuse);
    const url = service.origin.replace('http:', 'https:');
    await expectProblemAt(url, { ...UNREACHABLE, logged: /ERR_SSL_|EPROTO/ });
  });

  test('a certificate for another name, after which the connection pool is still usable', async () => {
    const certificate = createCertificate('other.test');
    await using trusted = await trust(certificate);
    await using service = await startTlsService(certificate);
    const env = { ...trusted.env, SERVICE_CONNECTIONS: '1' };
    const { response, lines, sendAgain, kill } = await requestAt(service.url, env);
    await expectProblem(response, lines, { ...UNREACHABLE, logged: /ERR_TLS_CERT_ALTNAME_INVALID/ });
    expect(await sendAgain()).toMatchObject(UNREACHABLE);
    await kill();
  });

  test('a connection that is reset immediately', async () => {
    await using service = await startRawService();
    void service.takeNextConnection().then(({ socket }) => socket.resetAndDestroy());
    await expectProblemAt(service.origin, { ...UNREACHABLE, logged: /SERVICE_RESET/ });
  });
});

test('the gateway reaches a service with a trusted certificate for its name', async () => {
  const certificate = createCertificate('localhost');
  await using trusted = await trust(certificate);
  await using service = await startTlsService(certificate);
  const { response } = await requestAt(service.url, trusted.env);
  expect(response).toMatchObject({ status: 200, body: 'over TLS' });
});

test('service_timeout means a service that does not accept connections', async () => {
  await using unresponsive = await startUnresponsivePort();
  const logged = /no response in time|UND_ERR_CONNECT_TIMEOUT/;
  const cause = { status: 504, code: 'service_timeout', logged };
  await expectProblemAt(`http://127.0.0.1:${unresponsive.port}`, cause, { SERVICE_TIMEOUT_SECONDS: '1' });
});
