import type { RedisTarget } from '../../config/redis-url.ts';
import { toSentinelLogin } from '../../redis/login.ts';
import { isResult, problem, warning, type Result } from './finding.ts';
import { isForbidden, toServer, withConnection, type RedisServer, type Send } from './redis-connection.ts';

/** The masters that store sessions, and problems with the Sentinels or nodes that were queried for the masters. */
interface Topology {
  readonly masters: readonly RedisServer[];
  readonly remarks: readonly Result[];
}

/** Finds the masters in the same way as Cloakroom: from the Sentinels, from the cluster nodes, or from `REDIS_URL` itself. */
export async function findMasters(target: RedisTarget): Promise<Topology> {
  switch (target.kind) {
    case 'sentinel': {
      const login = toSentinelLogin(target);
      const sentinels = target.sentinels.map((address) => toServer(address, login));
      return queryAll(sentinels, async (send) => querySentinel(send, target));
    }
    case 'cluster': {
      const nodes = target.nodes.map((address) => toServer(address, target));
      return queryAll(nodes, async (send, node) => queryNode(send, node, target));
    }
    case 'single':
    case 'socket':
      return { masters: [toServer(target, target, target.db)], remarks: [] };
  }
}

/** Queries all servers in parallel. If any server names a master, problems with other servers are only warnings. */
async function queryAll(
  servers: readonly RedisServer[],
  query: (send: Send, server: RedisServer) => Promise<RedisServer[] | Result>,
): Promise<Topology> {
  const outcomes = await Promise.all(
    servers.map(async (server) => withConnection(server, async (send) => query(send, server))),
  );
  const masters = outcomes.flatMap((outcome) => (isResult(outcome) ? [] : outcome));
  const problems = outcomes.filter(isResult);
  return {
    masters: [...new Map(masters.map((master) => [master.name, master])).values()],
    remarks: masters.length > 0 ? problems.map(({ detail, remedy }) => warning(detail, remedy)) : problems,
  };
}

type SentinelTarget = Extract<RedisTarget, { kind: 'sentinel' }>;

async function querySentinel(send: Send, target: SentinelTarget): Promise<RedisServer[] | Result> {
  const reply = await send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master);
  if (isForbidden(reply)) {
    return problem(
      'A Sentinel refuses to return the address of the master.',
      'Grant permission on each Sentinel: ACL SETUSER default +info +subscribe &+switch-master +sentinel|get-master-addr-by-name +sentinel|sentinels',
    );
  }
  if ('error' in reply || reply.value === null) {
    return problem(
      'A Sentinel does not monitor a master with the name in REDIS_URL.',
      'Compare the name after the last / in REDIS_URL with “sentinel monitor” in the configuration of the Sentinels.',
    );
  }
  const [host, port] = reply.value as [string, string];
  return [toServer({ host, port: Number(port) }, target, target.db)];
}

async function queryNode(
  send: Send,
  node: RedisServer,
  target: RedisTarget,
): Promise<RedisServer[] | Result> {
  const slots = await send('CLUSTER', 'SLOTS');
  if (isForbidden(slots) || isForbidden(await send('CLUSTER', 'INFO'))) {
    return problem(
      'The user in REDIS_URL lacks permission for CLUSTER SLOTS or CLUSTER INFO. Cloakroom needs both to find the masters.',
      'Grant both permissions on every node: ACL SETUSER <user> +cluster|slots +cluster|info',
    );
  }
  const ranges = 'value' in slots ? (slots.value as [unknown, unknown, [string | null, number]][]) : [];
  if (ranges.length === 0) {
    return problem(
      'A node in REDIS_URL does not belong to a cluster, or its cluster has no slots.',
      'Use redis:// for a single Redis.',
    );
  }
  return ranges.map(([, , [host, port]]) => {
    // A node that doesn't know its own address returns null, "" or "?".
    const isUnknown = host === null || host === '' || host === '?';
    return toServer({ host: isUnknown ? (node.options.host ?? '') : host, port }, target);
  });
}
