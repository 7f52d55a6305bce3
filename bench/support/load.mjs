import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** Raw sockets and no more of HTTP than it takes to see that an answer is a whole 200: the load must cost little. */

const HEAD_END = '\r\n\r\n';

/**
 * @typedef {object} Target
 * @property {number} port
 * @property {readonly Buffer[]} requests sent in turn: one for each session
 * @property {number} bodyBytes what every answer must have
 */

/**
 * As many calls as asked for, from callers who each have a connection of their own and call again once they are answered.
 * Rejects where an answer is no 200 or has another length.
 * @param {Target} target
 * @param {number} calls
 * @param {number} [callers]
 */
export async function callMany(target, calls, callers = 32) {
  const { requests } = target;
  let begun = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      const caller = await openCaller(target);
      while (begun < calls) await caller.call(requests[begun++ % requests.length] ?? Buffer.alloc(0));
      caller.close();
    }),
  );
}

/**
 * One call after the other at a leisurely pace. Resolves with how long each took, in ms.
 * @param {Target} target
 * @param {number} calls
 * @param {number} everyMs
 */
export async function callNowAndThen(target, calls, everyMs) {
  const caller = await openCaller(target);
  const took = [];
  for (let call = 0; call < calls; call++) {
    const began = performance.now();
    await caller.call(target.requests[call % target.requests.length] ?? Buffer.alloc(0));
    took.push(performance.now() - began);
    await delay(everyMs);
  }
  caller.close();
  return took;
}

/** @param {Target} target */
async function openCaller({ port, bodyBytes }) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  /** @type {() => void} */
  let answered = () => {};
  /** @type {(reason: Error) => void} */
  let fail = () => {};
  /** Bytes of the answer that are yet to come; null before its head. */
  let left = /** @type {number | null} */ (null);
  let early = Buffer.alloc(0);

  socket.on('data', (chunk) => {
    if (left === null) {
      early = early.length === 0 ? chunk : Buffer.concat([early, chunk]);
      const headBytes = early.indexOf(HEAD_END) + HEAD_END.length;
      if (headBytes < HEAD_END.length) return;
      const head = early.latin1Slice(0, headBytes);
      if (!head.startsWith('HTTP/1.1 200 ') || lengthIn(head) !== bodyBytes) {
        fail(new Error(`not the answer that was asked for: ${early.latin1Slice(0, 1_000)}`));
        return;
      }
      left = headBytes + bodyBytes - early.length;
      early = Buffer.alloc(0);
    } else {
      left -= chunk.length;
    }
    if (left > 0) return;
    if (left < 0) {
      fail(new Error('more came than was asked for'));
      return;
    }
    left = null;
    answered();
  });
  socket.on('error', (error) => fail(error));
  socket.on('close', () => fail(new Error('the connection was closed')));

  return {
    /**
     * @param {Buffer} request
     * @returns {Promise<void>}
     */
    call: async (request) =>
      new Promise((resolve, reject) => {
        answered = resolve;
        fail = (reason) => {
          socket.destroy();
          reject(reason);
        };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** @param {string} head */
function lengthIn(head) {
  return Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
}
