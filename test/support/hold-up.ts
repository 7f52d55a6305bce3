/** As if this process had got no time to run for so long (ms): what is sent to it meanwhile waits. */
export function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
