import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeCommand, startProcess } from '../../bench/support/start-process.mjs';
import { startStore } from '../../bench/support/store.mjs';
import { startChromium } from '../../scripts/chromium.mjs';
import { signIn } from '../../scripts/running-demo.mjs';
import { writeNginxConf } from '../../test/support/reverse-proxies/nginx-conf.mjs';
import { errorsIn } from './app-log.mjs';

/** These ports are free, because the audit runs in its own network namespace. */
const PORTS = { service: 4000, cloakroom: 3000, https: 443, http: 80 };
const START_WITHIN_MS = 20_000;

/**
 * The scanned system: the compiled Cloakroom behind nginx with deploy/nginx.conf, and the local service as its upstream.
 * @typedef {object} ScannedSystem
 * @property {string} origin `https://localhost`, the origin of nginx
 * @property {string} direct the origin of Cloakroom, without nginx
 * @property {string} cookie the `Cookie` header of the scanners' session
 * @property {string} otherCookie the `Cookie` header of another session
 * @property {string} certificate the path of the self-signed certificate
 * @property {string} folder for reports
 * @property {() => Promise<string[]>} logErrors resolves to the findings in the Cloakroom log
 * @property {() => Promise<void>} stop
 */

/**
 * Starts the scanned system and signs in twice.
 * @param {string} folder for logs, reports and nginx's files; its old contents are deleted
 * @returns {Promise<ScannedSystem>}
 */
export async function startScannedSystem(folder) {
  const nginxFolder = join(folder, 'nginx');
  await rm(folder, { recursive: true, force: true });
  await mkdir(nginxFolder, { recursive: true });
  const certificate = await createCertificate(nginxFolder);
  const origin = 'https://localhost';
  const direct = `http://127.0.0.1:${PORTS.cloakroom}`;
  const store = await startStore();
  const service = startProcess(
    nodeCommand('dist/local-service/main.js'),
    {
      REDIS_URL: store.url,
      LOCAL_SERVICE_PORT: String(PORTS.service),
      LOCAL_SERVICE_REDIRECT_URIS: `${origin}/auth/callback`,
    },
    { stdout: 'ignore' },
  );
  const logFile = join(folder, 'cloakroom.log');
  const cloakroom = startProcess(
    nodeCommand('dist/main.js'),
    {
      PUBLIC_URL: origin,
      PORT: String(PORTS.cloakroom),
      TRUST_PROXY: '1',
      SERVICE_URL: `http://127.0.0.1:${PORTS.service}`,
      CLIENT_ID: 'demo-app',
      CLIENT_SECRET: 'demo-secret',
      SCOPES: 'room:read workspace:read',
      REDIS_URL: store.url,
      SESSION_KEYS: randomBytes(32).toString('base64url'),
    },
    { stdout: openSync(logFile, 'w') },
  );
  const ports = { httpsPort: PORTS.https, httpPort: PORTS.http };
  const [program, ...args] = await writeNginxConf(nginxFolder, { ...ports, origin, certificate }, [
    new URL(direct).host,
  ]);
  const nginx = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  process.once('exit', () => nginx.kill());
  await waitUntilReady(direct, certificate.cert);
  const [cookie, otherCookie] = await sessionCookies(origin);

  return {
    origin,
    direct,
    certificate: join(nginxFolder, 'cert.pem'),
    cookie,
    otherCookie,
    folder,
    logErrors: async () => errorsIn(await readFile(logFile, 'utf8')),
    async stop() {
      const exited = once(nginx, 'exit');
      nginx.kill();
      await exited;
      await cloakroom.stop();
      await service.stop();
      await store.stop();
    },
  };
}

/**
 * Creates a self-signed certificate for `localhost` that is valid for a day.
 * @param {string} folder
 */
async function createCertificate(folder) {
  const args =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync('openssl', [...args.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}

/**
 * Resolves once Cloakroom is ready and nginx forwards requests. Asks Cloakroom directly, because nginx does not forward `/readyz`.
 * @param {string} direct
 * @param {string} ca
 */
async function waitUntilReady(direct, ca) {
  const giveUpAt = performance.now() + START_WITHIN_MS;
  const isReady = async () =>
    fetch(`${direct}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady()) || (await statusOf(ca)) !== 200) {
    if (performance.now() > giveUpAt)
      throw new Error(`Cloakroom was not ready behind nginx within ${START_WITHIN_MS / 1_000} s.`);
    await delay(50);
  }
}

/** @param {string} ca */
async function statusOf(ca) {
  try {
    const sent = request({ host: 'localhost', path: '/healthz', ca, agent: false }).end();
    const [response] = /** @type {[import('node:http').IncomingMessage]} */ (await once(sent, 'response'));
    response.resume();
    return response.statusCode;
  } catch {
    return 0;
  }
}

/**
 * Signs in twice. Resolves to the `Cookie` headers of both sessions.
 * @param {string} origin
 */
async function sessionCookies(origin) {
  const chromium = await startChromium();
  const signInOnce = async () => {
    const context = await chromium.newContext({ ignoreHTTPSErrors: true });
    await signIn(await context.newPage(), origin);
    const cookies = await context.cookies(origin);
    return cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  };
  try {
    return /** @type {const} */ ([await signInOnce(), await signInOnce()]);
  } finally {
    await chromium.close();
  }
}
