/** So many turns of the event loop: where both ends are in this process, what was sent before has been read. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
