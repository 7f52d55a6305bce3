import { performance } from 'node:perf_hooks';

/** Allocates and drops some megabytes for each message, and sends back the time of it in ms; see memory-probe.mjs. */

const TIMES = 150;
const KEPT = 256;
const WARM_UPS = 40;
const text = JSON.stringify(
  Array.from({ length: 44 }, (_, at) => ({
    id: `workspace-${at}`,
    name: `Workspace number ${at}`,
    description: 'A place to draw, write and talk together, kept for as long as it is needed.',
    members: at * 7,
  })),
);
/** @type {unknown[]} Objects that live for a while, like the requests of a server. */
const kept = Array.from({ length: KEPT });

function allocate() {
  const began = performance.now();
  for (let turn = 0; turn < TIMES; turn++) {
    const parsed = /** @type {unknown} */ (JSON.parse(text));
    kept[turn % KEPT] = parsed;
    Buffer.from(JSON.stringify(parsed));
  }
  return performance.now() - began;
}

for (let turn = 0; turn < WARM_UPS; turn++) allocate();
process.channel?.ref(); // end-with-parent.mjs has unreferenced it; here it keeps the process alive
process.on('message', () => process.send?.(allocate()));
process.send?.('ready');
