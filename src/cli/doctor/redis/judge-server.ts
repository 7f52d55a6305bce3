import { ok, problem, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';
import type { Examination } from './examination.ts';
import { byInfo, numberIn } from './info.ts';

/** Of `maxclients`; past it people should know. */
const MANY_CLIENTS = 0.8;

/** Whether it says how it is. */
export function judgeInfo({ info, isInfoForbidden }: Examination): Verdict {
  if (info !== null) return ok('Tells how it is.');
  if (isInfoForbidden) {
    return warning(
      'Its user may not run INFO: it works, but each call costs Cloakroom more, and half of what is to be known of Redis can’t be told here.',
      'Allow it: ACL SETUSER <user> +info',
    );
  }
  return problem(
    'It does not know INFO, which every connection begins with: to Cloakroom it is away.',
    'Let it have INFO by that name: look for rename-command in its configuration.',
  );
}

/** Whether it has the commands that sessions are read with. */
export const judgeVersion = byInfo((info) => {
  const version = info.get('redis_version') ?? '';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > 6 || (major === 6 && minor >= 2)) return ok(version);
  return problem(
    `${version} is too old: Cloakroom needs GETEX and GETDEL of Redis 6.2.`,
    'Upgrade to 7 or newer.',
  );
});

/** Whether it takes writes. */
export const judgeRole = byInfo((info) => {
  if (info.get('redis_mode') === 'sentinel') {
    return problem(
      'It is a Sentinel, and keeps no data.',
      'Use redis+sentinel://host:26379/name-of-the-master.',
    );
  }
  if (info.get('role') === 'slave') {
    return problem(
      'It is a replica: it takes no writes, so that no session can be read.',
      'Name the master in REDIS_URL, or the Sentinels or the cluster, which tell who it is.',
    );
  }
  return ok('The one that takes writes.');
});

/** `target` is the kind of REDIS_URL: a node of a cluster alone would send most keys elsewhere. */
export function judgeMode({ info }: Examination, target: string): Verdict {
  if (info?.get('redis_mode') !== 'cluster' || target === 'cluster') return ok('');
  return problem(
    'It is a node of a cluster: it sends most keys elsewhere.',
    'Use redis+cluster://host:6379,host:6379 in REDIS_URL.',
  );
}

/** Whether there is room for our connections. */
export const judgeClients = byInfo((info) => {
  const [connected, most] = [numberIn(info, 'connected_clients'), numberIn(info, 'maxclients')];
  if (most === 0) return ok(`${connected} connected.`);
  const detail = `${connected} connected of ${most}; a process of Cloakroom needs two, and in a cluster one to each node.`;
  if (connected <= most * MANY_CLIENTS) return ok(detail);
  return warning(detail, 'Raise maxclients, or find out who holds so many connections.');
});
