/** Waits for this many turns of the event loop. What was sent within this process before has then been read. */
export async function eventLoopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Blocks the event loop for so many ms, as if this process had got no CPU. What others send meanwhile waits. */
export function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
