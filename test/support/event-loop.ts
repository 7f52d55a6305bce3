/** Waits for this many turns of the event loop, so that this process can read bytes that it has sent to itself. */
export async function eventLoopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Blocks the event loop for this many ms, as if the process got no CPU time. Bytes that arrive during this time stay unread. */
export function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
