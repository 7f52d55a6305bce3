/**
 * Replaces the DNS resolver in a doctor process. Lookups of names under `hangs.example` never finish. All other names resolve to
 * this machine. As in Node, only two lookups run at a time; the others wait.
 */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const CONCURRENCY = 2;
const LOCAL = { address: '127.0.0.1', family: 4 };

let running = 0;
/** @type {(() => void)[]} */
const waiting = [];

/** @param {string} host @param {() => void} respond */
function lookUp(host, respond) {
  if (running === CONCURRENCY) return void waiting.push(() => lookUp(host, respond));
  running += 1;
  if (host.endsWith('hangs.example')) return void setInterval(() => {}, 60_000); // keeps the process alive, like a real lookup
  setImmediate(() => {
    running -= 1;
    waiting.shift()?.();
    respond();
  });
}

/**
 * @typedef {(error: null, ...found: unknown[]) => void} Done
 * @type {(host: string, options: { all?: boolean }, done: Done) => void}
 */
const lookup = (host, { all = false }, done) =>
  lookUp(host, () => (all ? done(null, [LOCAL]) : done(null, LOCAL.address, LOCAL.family)));

/** @type {(host: string) => Promise<unknown>} */
const lookupPromised = async (host) =>
  new Promise((resolve) => {
    lookUp(host, () => resolve(LOCAL));
  });

Object.assign(dns, { lookup });
Object.assign(dns.promises, { lookup: lookupPromised });
syncBuiltinESMExports();
