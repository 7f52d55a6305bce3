import { monitorEventLoopDelay } from 'node:perf_hooks';
import { watchStalls } from './stalls.mjs';

// Loaded before Cloakroom into a process of its own: tells how it is when it is asked, after a full collection.
const lag = monitorEventLoopDelay({ resolution: 10 });
lag.enable();
const stalls = watchStalls();
process.on('message', () => {
  const lagMs = lag.max / 1e6;
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ rss, heapUsed, lagMs, stalls: stalls() });
  lag.reset(); // without the collection that we have just asked for
});
process.channel?.unref();
