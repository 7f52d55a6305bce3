import { spawn } from 'node:child_process';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.mjs';
import { toNginxConf } from './nginx-conf.mjs';
import { reportPort, settings } from './peer.mjs';

/** nginx, whose `auth_request` asks this session service for the Authorization header of the upstream request. */

const SESSION_SECONDS = 3_600;
const COOKIE = /(?:^|; )session=([\w-]{43})\.([\w-]{43})(?:;|$)/;

const redis = new Redis(settings['redis'] ?? '', { enableAutoPipelining: false });
const key = randomBytes(32);

const sessions = createServer((req, res) => {
  void respond(req, res).catch(() => res.writeHead(500).end());
});
sessions.keepAliveTimeout = 600_000;
sessions.maxRequestsPerSocket = 0;

/** @type {(req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => Promise<void>} */
async function respond(req, res) {
  if (req.url?.startsWith('/sign-in')) {
    const grant = new URL(req.url, 'http://localhost').searchParams.get('grant') ?? '';
    const id = randomBytes(32).toString('base64url');
    await redis.set(
      `nginx:${id}`,
      JSON.stringify({ grant: /** @type {unknown} */ (JSON.parse(grant)) }),
      'EX',
      SESSION_SECONDS,
    );
    res.writeHead(204, { 'set-cookie': `session=${id}.${sign(id)}; Path=/; HttpOnly; SameSite=Lax` }).end();
    return;
  }
  const id = idFrom(req.headers.cookie ?? '');
  const found = id === null ? null : await redis.getex(`nginx:${id}`, 'EX', SESSION_SECONDS);
  if (found === null) {
    res.writeHead(401, { 'content-length': 0 }).end();
    return;
  }
  const { grant } = /** @type {{ grant: { accessToken: string } }} */ (JSON.parse(found));
  res.writeHead(200, { authorization: `Bearer ${grant.accessToken}`, 'content-length': 0 }).end();
}

/** @param {string} cookie */
function idFrom(cookie) {
  const [, id = '', signature = ''] = COOKIE.exec(cookie) ?? [];
  const isValid = id !== '' && timingSafeEqual(Buffer.from(signature), Buffer.from(sign(id)));
  return isValid ? id : null;
}

/** @param {string} id */
function sign(id) {
  return createHmac('sha256', key).update(id).digest('base64url');
}

sessions.listen(0, '127.0.0.1');
await once(sessions, 'listening');
const folder = settings['folder'] ?? '';
const port = await freePort();
const conf = join(folder, 'nginx.conf');
writeFileSync(
  conf,
  toNginxConf({
    folder,
    port,
    upstream: new URL(settings['upstream'] ?? '').host,
    sessions: `127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (sessions.address()).port}`,
  }),
);
const nginx = spawn('nginx', ['-p', folder, '-c', conf, '-e', 'stderr'], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
process.once('exit', () => nginx.kill());
nginx.once('exit', () => process.exit(1));

while (!(await accepts())) await delay(50);
reportPort(port);

async function accepts() {
  const probe = connect(port, '127.0.0.1');
  try {
    await once(probe, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    probe.destroy();
  }
}
