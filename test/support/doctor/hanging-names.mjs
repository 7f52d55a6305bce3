/**
 * Loaded before the doctor into a process of its own, in place of a resolver: it never answers for names under `hangs.example`, and
 * `answers.example` is this machine. As in Node, two names are looked up at a time, and the others wait.
 */
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const AT_A_TIME = 2;
const HERE = { address: '127.0.0.1', family: 4 };

let underWay = 0;
/** @type {(() => void)[]} */
const waiting = [];

/** @param {string} host @param {() => void} answered */
function lookUp(host, answered) {
  if (underWay === AT_A_TIME) return void waiting.push(() => lookUp(host, answered));
  underWay += 1;
  if (host.endsWith('hangs.example')) return void setInterval(() => {}, 60_000); // and its process goes on
  setImmediate(() => {
    underWay -= 1;
    waiting.shift()?.();
    answered();
  });
}

/**
 * @typedef {(error: null, ...found: unknown[]) => void} Done
 * @type {(host: string, options: { all?: boolean }, done: Done) => void}
 */
const lookup = (host, { all = false }, done) =>
  lookUp(host, () => (all ? done(null, [HERE]) : done(null, HERE.address, HERE.family)));

/** @type {(host: string) => Promise<unknown>} */
const lookupPromised = async (host) =>
  new Promise((resolve) => {
    lookUp(host, () => resolve(HERE));
  });

Object.assign(dns, { lookup });
Object.assign(dns.promises, { lookup: lookupPromised });
syncBuiltinESMExports();
