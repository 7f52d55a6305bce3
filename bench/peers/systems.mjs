import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createCloakroom, START_OPTIONS } from '../support/cloakroom.mjs';
import { onMeasuredCore } from '../support/cores.mjs';
import { freePort } from '../support/free-port.mjs';
import { CLIENT } from './openid-client.mjs';
import { signInByForms } from './openid-sign-in.mjs';
import { nodeCommand, startProcess } from '../support/start-process.mjs';

/** The systems to compare. */

/** @typedef {import('../../src/session/record.ts').Grant} Grant */
/**
 * @typedef {object} Settings
 * @property {string} upstream
 * @property {string} redisUrl
 * @property {import('../../src/redis/client.ts').RedisClient} redis
 * @property {string} folder for temporary files
 * @property {readonly Grant[]} grants one for each session
 * @property {string | undefined} profiles the folder for CPU profiles, if any
 */
/**
 * @typedef {object} System
 * @property {number} pid
 * @property {number} port
 * @property {readonly string[]} cookies one `Cookie` header for each session
 * @property {readonly string[]} accessTokens the token of each session
 * @property {readonly number[]} [helpers] the ids of the processes that run on the other core
 * @property {() => Promise<void>} stop
 */
/**
 * @typedef {object} Kind
 * @property {string} name for the command line
 * @property {string} title
 * @property {readonly string[]} packages the packages or programs whose versions the report shows
 * @property {boolean} [withoutSessions]
 * @property {(settings: Settings) => Promise<System>} start
 */

/** @type {readonly Kind[]} */
export const KINDS = [
  {
    name: 'a',
    title: 'bare undici pass-through, no sessions',
    packages: ['undici'],
    withoutSessions: true,
    start: async (settings) => startBare('bare', settings, {}),
  },
  {
    name: 'a-redis',
    title: 'bare undici pass-through that reads from Redis',
    packages: ['undici', 'ioredis'],
    withoutSessions: true,
    async start(settings) {
      const system = await startBare('bare-redis', settings, { readsSessions: 'true' });
      for (const cookie of system.cookies)
        await settings.redis.set(`bare:${cookie}`, 'x'.repeat(500), 'EX', 3_600);
      return system;
    },
  },
  {
    name: 'cloakroom',
    title: 'Cloakroom, request logs off',
    packages: [],
    start: async (settings) => startCloakroom('cloakroom', settings, { LOG_LEVEL: 'warn' }, 'ignore'),
  },
  {
    name: 'cloakroom-logs',
    title: 'Cloakroom, request logs and metrics on',
    packages: [],
    async start(settings) {
      const pipe = openLogPipe(settings.folder);
      const env = { LOG_LEVEL: 'info', METRICS_PORT: String(await freePort()) };
      const system = await startCloakroom('cloakroom-logs', settings, env, pipe.writes);
      closeSync(pipe.writes);
      return { ...system, helpers: [pipe.reader] };
    },
  },
  {
    name: 'b',
    title: 'express + express-session + connect-redis + http-proxy-middleware',
    packages: ['express', 'express-session', 'connect-redis', 'redis', 'http-proxy-middleware'],
    start: async (settings) => startAndSignIn('express', settings),
  },
  {
    name: 'c',
    title: 'express-openid-connect with a Redis store + http-proxy-middleware',
    packages: [
      'express-openid-connect',
      'express',
      'connect-redis',
      'redis',
      'http-proxy-middleware',
      'oidc-provider',
    ],
    start: startOpenid,
  },
  {
    name: 'd',
    title: 'fastify + @fastify/session + @fastify/http-proxy',
    packages: [
      'fastify',
      '@fastify/session',
      '@fastify/cookie',
      'connect-redis',
      'redis',
      '@fastify/http-proxy',
    ],
    start: async (settings) => startAndSignIn('fastify', settings),
  },
  {
    name: 'e',
    title: 'nginx with auth_request to a Node session service',
    packages: ['nginx', 'ioredis'],
    start: async (settings) => startAndSignIn('nginx', settings),
  },
];

/**
 * Starts the pass-through. Every cookie is accepted, and all requests get the same token.
 * @param {string} name
 * @param {Settings} settings
 * @param {Record<string, string>} more
 */
async function startBare(name, settings, more) {
  const [accessToken = ''] = settings.grants.map((grant) => grant.accessToken);
  const system = await startPeer('bare', settings, { accessToken, ...more }, profiling(settings, name));
  return {
    ...system,
    cookies: settings.grants.map((_, at) => `session=${at}`),
    accessTokens: settings.grants.map(() => accessToken),
  };
}

/** The V8 options that src/main.ts sets. */
const V8_OPTIONS = [
  '--no-allocation-site-pretenuring',
  '--no-parallel-scavenge',
  '--no-minor-gc-task',
  '--heap-growing-percent=30',
];

/** Cloakroom without its sessions. Not one of KINDS, because it shows only what sessions cost. @type {Kind} */
export const WITHOUT_SESSIONS = {
  name: 'without-sessions',
  title: 'Cloakroom without sessions',
  packages: [],
  withoutSessions: true,
  async start(settings) {
    const [grant] = settings.grants;
    const more = { env: JSON.stringify(createCloakroom(settings).env), grant: JSON.stringify(grant) };
    const system = await startPeer('without-sessions', settings, more, [...START_OPTIONS, ...V8_OPTIONS]);
    return {
      ...system,
      cookies: settings.grants.map((_, at) => `session=${at}`),
      accessTokens: settings.grants.map(() => grant?.accessToken ?? ''),
    };
  },
};

/**
 * @param {string} file
 * @param {Settings} settings
 * @param {Record<string, string>} [more]
 * @param {readonly string[]} [nodeOptions]
 */
async function startPeer(file, { upstream, redisUrl, folder }, more = {}, nodeOptions = []) {
  const command = onMeasuredCore(nodeCommand(`bench/peers/${file}.mjs`, nodeOptions));
  const peerSettings = JSON.stringify({ upstream, redis: redisUrl, folder, ...more });
  const started = startProcess(command, { PEER_SETTINGS: peerSettings });
  const { port } = /** @type {{ port: number }} */ (await started.nextMessage());
  return { ...started, port };
}

/**
 * Starts a peer and creates a session for each grant.
 * @param {string} file
 * @param {Settings} settings
 * @returns {Promise<System>}
 */
async function startAndSignIn(file, settings) {
  const peer = await startPeer(file, settings);
  const cookies = [];
  for (const grant of settings.grants) {
    const query = new URLSearchParams({ grant: JSON.stringify(grant) });
    const response = await fetch(`http://127.0.0.1:${peer.port}/sign-in?${query.toString()}`);
    if (!response.ok) throw new Error(`${file} responded ${response.status} to sign-in.`);
    cookies.push(
      response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';', 1)[0])
        .join('; '),
    );
  }
  return { ...peer, cookies, accessTokens: settings.grants.map((grant) => grant.accessToken) };
}

/**
 * Starts express-openid-connect and an identity provider, and signs in a user for each grant.
 * @param {Settings} settings
 * @returns {Promise<System>}
 */
async function startOpenid(settings) {
  // Ignore stderr, because the provider warns about its development settings.
  const provider = startProcess(nodeCommand('bench/peers/identity-provider.mjs'), {}, { stderr: 'ignore' });
  const { issuer } = /** @type {{ issuer: string }} */ (await provider.nextMessage());
  const client = { issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret };
  const peer = await startPeer('express-openid-connect', settings, client);
  const cookies = [];
  const accessTokens = [];
  for (const at of settings.grants.keys()) {
    const issued = provider.nextMessage();
    cookies.push(await signInByForms(peer.port, `user-${at}`));
    accessTokens.push(/** @type {{ accessToken: string }} */ (await issued).accessToken);
  }
  const stop = async () => {
    await peer.stop();
    await provider.stop();
  };
  return { ...peer, stop, cookies, accessTokens };
}

/**
 * @param {string} name
 * @param {Settings} settings
 * @param {NodeJS.ProcessEnv} env
 * @param {'ignore' | number} stdout
 * @returns {Promise<System>}
 */
async function startCloakroom(name, settings, env, stdout) {
  const cloakroom = createCloakroom(settings);
  const started = await cloakroom.start({
    env,
    stdout,
    wrap: onMeasuredCore,
    nodeOptions: profiling(settings, name),
  });
  const cookies = [];
  for (const grant of settings.grants) cookies.push(await cloakroom.createSession(grant));
  return { ...started, cookies, accessTokens: settings.grants.map((grant) => grant.accessToken) };
}

/**
 * @param {Settings} settings
 * @param {string} name
 */
function profiling({ profiles }, name) {
  if (profiles === undefined) return [];
  return ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${name}.cpuprofile`];
}

/**
 * Creates a pipe for logs, as a container does, with a reader that uses little CPU time.
 * @param {string} folder
 */
function openLogPipe(folder) {
  const path = join(folder, 'log');
  execFileSync('mkfifo', [path]);
  const writes = openSync(path, 'r+'); // unlike 'w', does not wait for a reader
  const reads = openSync(path, 'r');
  const { pid: reader = 0 } = spawn('cat', { stdio: [reads, 'ignore', 'ignore'] });
  closeSync(reads);
  rmSync(path); // frees the name for the next round
  return { writes, reader };
}
