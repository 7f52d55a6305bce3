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
import { errorsIn } from './own-log.mjs';

/** The ports. They are free, because the audit has its own network namespace. */
const PORTS = { service: 4000, cloakroom: 3000, https: 443, http: 80 };
const START_WITHIN_MS = 20_000;

/**
 * The scanned system: Cloakroom as shipped, behind nginx with deploy/nginx.conf, with the local service as upstream.
 * @typedef {object} Stage
 * @property {string} origin `https://localhost`, behind nginx.
 * @property {string} direct Cloakroom itself, over http.
 * @property {string} cookie the `Cookie` header of the scanners' session
 * @property {string} otherCookie the `Cookie` header of another session
 * @property {string} certificate the path of the self-signed certificate
 * @property {string} folder for reports
 * @property {() => Promise<string[]>} errors the findings in Cloakroom's own log
 * @property {() => Promise<void>} end
 */

/**
 * Starts the scanned system and signs in twice.
 * @param {string} folder for logs, reports and files of nginx; created if it does not exist
 * @returns {Promise<Stage>}
 */
export async function startStage(folder) {
  const place = join(folder, 'nginx');
  await rm(folder, { recursive: true, force: true });
  await mkdir(place, { recursive: true });
  const certificate = await createCertificate(place);
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
  const [program, ...args] = await writeNginxConf(place, { ...ports, origin, certificate }, [
    new URL(direct).host,
  ]);
  const nginx = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  process.once('exit', () => nginx.kill());
  await ready(direct, certificate.cert);
  const [cookie, otherCookie] = await sessionCookies(origin);

  return {
    origin,
    direct,
    certificate: join(place, 'cert.pem'),
    cookie,
    otherCookie,
    folder,
    errors: async () => errorsIn(await readFile(logFile, 'utf8')),
    async end() {
      const ended = once(nginx, 'exit');
      nginx.kill();
      await ended;
      await cloakroom.stop();
      await service.stop();
      await store.stop();
    },
  };
}

/**
 * Makes a certificate for `localhost` that is valid for a day.
 * @param {string} folder
 */
async function createCertificate(folder) {
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync('openssl', [...words.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' });
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}

/**
 * Resolves once Cloakroom is ready and nginx serves its pages. nginx does not forward `/readyz`.
 * @param {string} direct
 * @param {string} ca
 */
async function ready(direct, ca) {
  const giveUpAt = performance.now() + START_WITHIN_MS;
  const isReady = async () =>
    fetch(`${direct}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady()) || (await statusOf(ca)) !== 200) {
    if (performance.now() > giveUpAt) throw new Error('Cloakroom is not ready behind nginx.');
    await delay(50);
  }
}

/** @param {string} ca */
async function statusOf(ca) {
  try {
    const asked = request({ host: 'localhost', path: '/healthz', ca, agent: false }).end();
    const [answer] = /** @type {[import('node:http').IncomingMessage]} */ (await once(asked, 'response'));
    answer.resume();
    return answer.statusCode;
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
