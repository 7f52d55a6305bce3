import { performance } from 'node:perf_hooks';

/** For each message, allocates and drops several megabytes and replies with the time taken in ms (memory-probe.mjs). */

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
/** The latest objects, kept reachable as a server keeps the requests in flight. @type {unknown[]} */
const kept = Array.from({ length: KEPT });

function allocate() {
  const startedAt = performance.now();
  for (let turn = 0; turn < TIMES; turn++) {
    const parsed = /** @type {unknown} */ (JSON.parse(text));
    kept[turn % KEPT] = parsed;
    Buffer.from(JSON.stringify(parsed));
  }
  return performance.now() - startedAt;
}

for (let turn = 0; turn < WARM_UPS; turn++) allocate();
process.channel?.ref(); // keeps the process alive; exit-with-parent.mjs has called unref()
process.on('message', () => process.send?.(allocate()));
process.send?.('ready');
