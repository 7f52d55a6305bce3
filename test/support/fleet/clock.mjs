/**
 * Loaded before Cloakroom into a process of its own: whoever started it may move its clock. Redis, the service and the
 * process's timers keep theirs.
 */
const realNow = Date.now.bind(Date);
let skewMs = 0;
Date.now = () => realNow() + skewMs;

process.on('message', (/** @type {{ skewMs: number }} */ message) => {
  ({ skewMs } = message);
  process.send?.(message);
});
process.channel?.unref();
