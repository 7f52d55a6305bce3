import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Generates load over raw sockets. To save CPU time, parses only enough HTTP to recognise a complete 200 response. */

const HEAD_END = '\r\n\r\n';
/** Connections idle for longer than this are replaced, because Node closes them after five seconds. */
const MAX_IDLE_MS = 4_200;

/**
 * @typedef {object} Target
 * @property {number} port
 * @property {readonly Buffer[]} requests one per session, sent in turn
 * @property {number} bodyBytes the length of every response body
 */
/** @typedef {Awaited<ReturnType<typeof openClient>>} Client */
/** @typedef {{ ms: number, head: string }} TimedRequest a request's latency and the head of its response */

/**
 * Creates clients with one connection each. A client sends its next request once it has received the previous response.
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
     * Sends requests for `ms`. Resolves to the number of requests. Rejects if a response is not a 200 or has the wrong length.
     * @param {number} ms
     * @param {number[]} [latencies] receives the latency of each request, in ms
     */
    async sendFor(ms, latencies) {
      if (performance.now() - usedAt > MAX_IDLE_MS) {
        close();
        clients = await Promise.all(Array.from({ length: count }, async () => openClient(target)));
      }
      const first = turn;
      const end = performance.now() + ms;
      const sendUntilEnd = async (/** @type {Client} */ client) => {
        for (let now = performance.now(); now < end;) {
          await client.send(turn++);
          const after = performance.now();
          latencies?.push(after - now);
          now = after;
        }
      };
      await Promise.all(clients.map(sendUntilEnd));
      usedAt = performance.now();
      return turn - first;
    },
  };
}

/**
 * Sends one request at a time, with pauses. Resolves to the latency of each request, in ms.
 * @param {Target} target
 * @param {number} requests
 * @param {number} pauseMs
 */
export async function sendWithPauses(target, requests, pauseMs) {
  const client = await openClient(target);
  const latencies = [];
  for (let turn = 0; turn < requests; turn++) {
    const startedAt = performance.now();
    await client.send(turn);
    latencies.push(performance.now() - startedAt);
    await delay(pauseMs);
  }
  client.close();
  return latencies;
}

/** Number of slow requests that sendAtRate() returns. */
const SLOWEST = 20;

/**
 * Sends `perSecond` requests a second over `count` connections for `ms`. A request that is due while its connection is busy is sent late,
 * and its latency includes that delay. Resolves to the latencies in ms, and to the slowest requests. Keeps nothing else, because a major
 * garbage collection here would delay requests.
 * @param {Target} target
 * @param {{ count: number, perSecond: number, ms: number }} load
 */
export async function sendAtRate(target, { count, perSecond, ms }) {
  const latencies = new Float64Array(Math.ceil(ms / 1_000) * perSecond + count);
  let requests = 0;
  /** @type {TimedRequest[]} */
  let slowest = [];
  const record = (/** @type {TimedRequest} */ request) => {
    latencies[requests++] = request.ms;
    if (slowest.length === SLOWEST && request.ms <= (slowest.at(-1)?.ms ?? 0)) return;
    slowest = [...slowest, request].toSorted((one, other) => other.ms - one.ms).slice(0, SLOWEST);
  };

  const clients = await Promise.all(Array.from({ length: count }, async () => openClient(target)));
  const everyMs = (1_000 * count) / perSecond;
  const beganAt = performance.now();
  const sendInTurn = async (/** @type {Client} */ client, /** @type {number} */ at) => {
    for (let turn = 0; turn * everyMs < ms; turn++) {
      const dueAt = beganAt + (at / count + turn) * everyMs;
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await delay(waitMs);
      const sentAt = waitMs > 0 ? performance.now() : dueAt;
      const head = await client.send(turn);
      record({ ms: performance.now() - sentAt, head });
    }
  };
  await Promise.all(clients.map(sendInTurn));
  for (const client of clients) client.close();
  return { latencies: [...latencies.subarray(0, requests)], slowest };
}

/** @param {Target} target */
export async function openClient({ port, requests, bodyBytes }) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  /** @type {(head: string) => void} */
  let succeed = () => {};
  /** @type {(reason: Error) => void} */
  let fail = () => {};
  /** The number of body bytes still to come, or null until the head is complete. */
  let left = /** @type {number | null} */ (null);
  let buffered = Buffer.alloc(0);
  let head = '';

  socket.on('data', (chunk) => {
    if (left === null) {
      buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
      const headBytes = buffered.indexOf(HEAD_END) + HEAD_END.length;
      if (headBytes < HEAD_END.length) return;
      head = buffered.toString('latin1', 0, headBytes);
      if (!head.startsWith('HTTP/1.1 200 ') || lengthIn(head) !== bodyBytes) {
        fail(new Error(`unexpected response: ${buffered.toString('latin1', 0, 1_000)}`));
        return;
      }
      left = headBytes + bodyBytes - buffered.length;
      buffered = Buffer.alloc(0);
    } else {
      left -= chunk.length;
    }
    if (left > 0) return;
    if (left < 0) {
      fail(new Error('the response body is too long'));
      return;
    }
    left = null;
    succeed(head);
  });
  socket.on('error', (error) => fail(error));
  socket.on('close', () => fail(new Error('the connection was closed')));

  return {
    /**
     * Resolves to the head of the response.
     * @param {number} turn selects the session
     * @returns {Promise<string>}
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
