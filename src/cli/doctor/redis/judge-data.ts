import { ok, problem, skipped, warning } from '../finding.ts';
import { byInfo, numberIn } from './info.ts';

/** Of `maxmemory`; past it people should know. */
const NEARLY = 0.9;

/** Whether it throws sessions away. */
export const judgeEviction = byInfo((info) => {
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  const remedy = 'Set maxmemory-policy noeviction, and keep nothing else there that needs eviction.';
  const evicted = numberIn(info, 'evicted_keys');
  if (policy !== 'noeviction') {
    const detail = `maxmemory-policy is ${policy}: where memory runs out, sessions are thrown away, and each is a user signed out.`;
    return numberIn(info, 'maxmemory') > 0
      ? problem(detail, remedy)
      : warning(`${detail} There is no maxmemory now, so none is yet.`, remedy);
  }
  if (evicted === 0) return ok('noeviction, and nothing was evicted.');
  return warning(
    `noeviction, but ${evicted} keys were evicted since it started: it was something else before.`,
    'Make sure that the setting outlives a restart.',
  );
});

/** Whether there is room, judged as Redis itself does. */
export const judgeMemory = byInfo((info) => {
  const most = numberIn(info, 'maxmemory');
  const used = numberIn(info, 'used_memory') - numberIn(info, 'mem_not_counted_for_evict');
  if (most === 0) return ok(`${toMiB(used)} used; no maxmemory.`);
  const detail = `${toMiB(used)} used of ${toMiB(most)}.`;
  const remedy = 'Raise maxmemory, or find out what else is kept there.';
  if (used >= most) {
    return problem(`${detail} It is full: nobody can sign in, and no token is renewed.`, remedy);
  }
  return used > most * NEARLY ? warning(`${detail} That is nearly all.`, remedy) : ok(detail);
});

/** Whether sessions outlive a restart. */
export const judgePersistence = byInfo((info, { save }) => {
  const failed = ['aof_last_write_status', 'rdb_last_bgsave_status'].some(
    (field) => info.get(field) === 'err',
  );
  if (failed) return problem('Its last write to disk failed.', 'Look at its log, and at its disk.');
  if (info.get('aof_enabled') === '1') return ok('Each write goes to an append-only file.');
  if (save === null) {
    return skipped(
      'No append-only file. Whether it saves from time to time only CONFIG GET would tell, which it refuses, and Cloakroom does without.',
      'To have it looked at here: ACL SETUSER <user> +config|get',
    );
  }
  if (save !== '') {
    return ok(
      'Saves to disk from time to time: a crash loses the sessions since (appendonly yes would keep them).',
    );
  }
  return warning(
    'It keeps nothing on disk: when it restarts, everybody is signed out.',
    'Set appendonly yes, on a disk that outlives it.',
  );
});

function toMiB(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
