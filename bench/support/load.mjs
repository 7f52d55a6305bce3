import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Sends load over raw sockets. It parses only enough HTTP to recognise a complete 200, so that the load costs little CPU. */

const HEAD_END = '\r\n\r\n';
/** Connections that were idle for longer are opened again, because Node closes them after five seconds. */
const FRESH_MS = 4_200;

/**
 * @typedef {object} Target
 * @property {number} port
 * @property {readonly Buffer[]} requests sent in turn, one for each session
 * @property {number} bodyBytes the body length of every response
 */
/** @typedef {Awaited<ReturnType<typeof openClient>>} Client */

/**
 * Creates clients with a connection each. A client sends its next request when it has the response to the one before.
 * @param {Target} target
 * @param {number} [count]
 */
export function createClients(target, count = 32) {
  /** @type {Client[]} */
  let clients = [];
  let usedAt = -Infinity;
  let turn = 0;

  const close = () => {
    for (const client of clients) client.close();
    clients = [];
  };
  return {
    close,
    /**
     * Sends requests for this time. Resolves to their number; rejects if a response is not a 200 or has another length.
     * @param {number} ms
     */
    async sendFor(ms) {
      if (performance.now() - usedAt > FRESH_MS) {
        close();
        clients = await Promise.all(Array.from({ length: count }, async () => openClient(target)));
      }
      const first = turn;
      const end = performance.now() + ms;
      const sendOn = async (/** @type {Client} */ client) => {
        while (performance.now() < end) await client.send(turn++);
      };
      await Promise.all(clients.map(sendOn));
      usedAt = performance.now();
      return turn - first;
    },
  };
}

/**
 * Sends one request at a time, with pauses. Resolves to the time of each, in ms.
 * @param {Target} target
 * @param {number} requests
 * @param {number} everyMs
 */
export async function sendNowAndThen(target, requests, everyMs) {
  const client = await openClient(target);
  const took = [];
  for (let turn = 0; turn < requests; turn++) {
    const began = performance.now();
    await client.send(turn);
    took.push(performance.now() - began);
    await delay(everyMs);
  }
  client.close();
  return took;
}

/** @param {Target} target */
export async function openClient({ port, requests, bodyBytes }) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  /** @type {() => void} */
  let succeed = () => {};
  /** @type {(reason: Error) => void} */
  let fail = () => {};
  /** Bytes of the response still to come; null before its head. */
  let left = /** @type {number | null} */ (null);
  let early = Buffer.alloc(0);

  socket.on('data', (chunk) => {
    if (left === null) {
      early = early.length === 0 ? chunk : Buffer.concat([early, chunk]);
      const headBytes = early.indexOf(HEAD_END) + HEAD_END.length;
      if (headBytes < HEAD_END.length) return;
      const head = early.toString('latin1', 0, headBytes);
      if (!head.startsWith('HTTP/1.1 200 ') || lengthIn(head) !== bodyBytes) {
        fail(new Error(`not the expected response: ${early.toString('latin1', 0, 1_000)}`));
        return;
      }
      left = headBytes + bodyBytes - early.length;
      early = Buffer.alloc(0);
    } else {
      left -= chunk.length;
    }
    if (left > 0) return;
    if (left < 0) {
      fail(new Error('more bytes came than expected'));
      return;
    }
    left = null;
    succeed();
  });
  socket.on('error', (error) => fail(error));
  socket.on('close', () => fail(new Error('the connection was closed')));

  return {
    /**
     * @param {number} turn selects the session
     * @returns {Promise<void>}
     */
    send: async (turn) =>
      new Promise((resolve, reject) => {
        succeed = resolve;
        fail = (reason) => {
          socket.destroy();
          reject(reason);
        };
        socket.write(requests[turn % requests.length] ?? '');
      }),
    close: () => socket.destroy(),
  };
}

/** @param {string} head */
function lengthIn(head) {
  return Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
}
