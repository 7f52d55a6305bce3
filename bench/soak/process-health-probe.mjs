import { monitorEventLoopDelay } from 'node:perf_hooks';
import { watchStalls } from './stalls.mjs';

// When preloaded into a Cloakroom process, replies to each message with the event loop delay, the stalls, and the memory use
// after a full garbage collection.
const lag = monitorEventLoopDelay({ resolution: 10 });
lag.enable();
const takeStalls = watchStalls();
process.on('message', () => {
  const lagMs = lag.max / 1e6;
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  process.send?.({ rss, heapUsed, lagMs, stalls: takeStalls() });
  lag.reset(); // leave out the delay that the collection above causes
});
process.channel?.unref();
