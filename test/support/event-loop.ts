/** Waits for this many turns of the event loop. By then, this process has read all bytes that it sent to itself before. */
export async function eventLoopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Blocks the event loop for this many ms, as if the process got no CPU time. Bytes that arrive meanwhile stay unread. */
export function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
