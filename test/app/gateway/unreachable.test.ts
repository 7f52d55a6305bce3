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
import { send, type FleetResponse } from '../../support/fleet/requests.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { startRawService } from '../../support/raw-service.ts';

// A service that no request reaches, in real processes: their errors are those of production.

const fleet = useFleet({ processes: 0 });

const UNREACHABLE = { status: 502, code: 'service_unreachable' };

/** Sends one request through a process in front of a service at this address. */
async function callAt(serviceUrl: string, env: Readonly<Record<string, string>> = {}) {
  const cloakroom = await fleet.add({ SERVICE_URL: serviceUrl, ALLOW_INSECURE_SERVICE: 'true', ...env });
  const answer: FleetResponse = await send(cloakroom.url, (await fleet.createSession()).cookie, {
    path: PATH,
  });
  const lines = () => cloakroom.logged().map((line) => JSON.stringify(line));
  return { answer, lines, cloakroom };
}

async function expectCauseAt(
  serviceUrl: string,
  cause: ExpectedProblem,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { answer, lines, cloakroom } = await callAt(serviceUrl, env);
  await expectProblem(answer, lines, cause);
  await cloakroom.kill();
}

/** A service over TLS with this certificate. */
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

/** The variables of a process that trusts this certificate. */
async function trust({ cert }: Certificate) {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  const file = join(folder, 'trusted.pem');
  await writeFile(file, cert);
  return {
    env: { NODE_EXTRA_CA_CERTS: file },
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}

describe('service_unreachable is', () => {
  test('a port without a listener', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    await expectCauseAt(url, { ...UNREACHABLE, logged: /ECONNREFUSED/ });
  });

  test('an unknown host name, at once', async () => {
    await expectCauseAt('http://nobody.invalid', { ...UNREACHABLE, logged: /ENOTFOUND|EAI_AGAIN/ });
  });

  test('an untrusted certificate', async () => {
    await using service = await startTlsService(createCertificate('localhost'));
    await expectCauseAt(service.url, { ...UNREACHABLE, logged: /SELF_SIGNED_CERT/ });
  });

  test('plain HTTP where TLS is expected', async () => {
    await using service = await startRawService();
    service.takeNext().then(
      ({ socket }) => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'),
      () => {},
    );
    const url = service.origin.replace('http:', 'https:');
    await expectCauseAt(url, { ...UNREACHABLE, logged: /ERR_SSL_|EPROTO/ });
  });

  test('a good certificate of another name, which costs no connection', async () => {
    const certificate = createCertificate('other.test');
    await using trusted = await trust(certificate);
    await using service = await startTlsService(certificate);
    const env = { ...trusted.env, SERVICE_CONNECTIONS: '1' };
    const { answer, lines, cloakroom } = await callAt(service.url, env);
    await expectProblem(answer, lines, { ...UNREACHABLE, logged: /ERR_TLS_CERT_ALTNAME_INVALID/ });
    const again = await send(cloakroom.url, (await fleet.createSession()).cookie, { path: PATH });
    expect(again).toMatchObject(UNREACHABLE);
    await cloakroom.kill();
  });

  test('not a good certificate of its own name', async () => {
    const certificate = createCertificate('localhost');
    await using trusted = await trust(certificate);
    await using service = await startTlsService(certificate);
    const { answer } = await callAt(service.url, trusted.env);
    expect(answer).toMatchObject({ status: 200, body: 'over TLS' });
  });

  test('a connection that is reset at once', async () => {
    await using service = await startRawService();
    service.takeNext().then(
      ({ socket }) => socket.resetAndDestroy(),
      () => {},
    );
    await expectCauseAt(service.origin, { ...UNREACHABLE, logged: /ECONNRESET/ });
  });
});

test('service_timeout is a service that accepts no connection', async () => {
  await using deaf = await startUnresponsivePort();
  const logged = /no response in time|UND_ERR_CONNECT_TIMEOUT/;
  const cause = { status: 504, code: 'service_timeout', logged };
  await expectCauseAt(`http://127.0.0.1:${deaf.port}`, cause, { SERVICE_TIMEOUT_SECONDS: '1' });
});
