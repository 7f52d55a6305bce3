import type { RedisTarget } from '../../config/redis-url.ts';
import { toSentinelLogin } from '../../redis/login.ts';
import { problem, warning, type Result } from './finding.ts';
import { ConnectionError } from './network-errors.ts';
import { isForbidden, toServer, withConnection, type RedisServer, type Send } from './redis-connection.ts';

/** The masters that hold sessions, and what is wrong with the Sentinels or the nodes that name them. */
interface Topology {
  readonly masters: readonly RedisServer[];
  readonly remarks: readonly Result[];
}

/** Finds the masters as Cloakroom finds them: from Sentinels, from the nodes of a cluster, or from `REDIS_URL` itself. */
export async function findMasters(target: RedisTarget): Promise<Topology> {
  switch (target.kind) {
    case 'sentinel': {
      const login = toSentinelLogin(target);
      const sentinels = target.sentinels.map((address) => toServer(address, login));
      return queryAll('Sentinel', sentinels, async (send) => querySentinel(send, target));
    }
    case 'cluster': {
      const nodes = target.nodes.map((address) => toServer(address, target));
      return queryAll('Node', nodes, async (send, node) => queryNode(send, node, target));
    }
    case 'single':
    case 'socket':
      return { masters: [toServer(target, target, target.db)], remarks: [] };
  }
}

/** Queries all at once. One that can't be reached is a warning as long as another one names a master. */
async function queryAll(
  kind: string,
  servers: readonly RedisServer[],
  query: (send: Send, server: RedisServer) => Promise<Topology>,
): Promise<Topology> {
  const topologies = await Promise.all(
    servers.map(async (server): Promise<Topology> => {
      try {
        return await withConnection(server, async (send) => query(send, server));
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        return { masters: [], remarks: [warning(`${kind} ${server.name} ${error.what}.`, error.remedy)] };
      }
    }),
  );
  const masters = topologies.flatMap((topology) => topology.masters);
  const remarks = topologies.flatMap((topology) => topology.remarks);
  return {
    masters: [...new Map(masters.map((master) => [master.name, master])).values()],
    remarks: masters.length > 0 ? remarks : remarks.map(({ detail, remedy }) => problem(detail, remedy)),
  };
}

type SentinelTarget = Extract<RedisTarget, { kind: 'sentinel' }>;

async function querySentinel(send: Send, target: SentinelTarget): Promise<Topology> {
  const reply = await send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master);
  if (isForbidden(reply)) {
    const remark = warning(
      'A Sentinel does not let Cloakroom ask for the master.',
      'Allow it at each Sentinel: ACL SETUSER default +info +subscribe &+switch-master +sentinel|get-master-addr-by-name +sentinel|sentinels',
    );
    return { masters: [], remarks: [remark] };
  }
  if (!('value' in reply) || !Array.isArray(reply.value)) {
    const remark = warning(
      'A Sentinel monitors no master of the name in REDIS_URL.',
      'Compare the name after the last / of REDIS_URL with “sentinel monitor” in the configuration of the Sentinels.',
    );
    return { masters: [], remarks: [remark] };
  }
  const [host, port] = reply.value as [string, string];
  const master = toServer({ host, port: Number(port) }, target, target.db);
  const quorum = await send('SENTINEL', 'CKQUORUM', target.master);
  // Only the doctor sends CKQUORUM: where it is forbidden, nothing is wrong.
  if ('value' in quorum || isForbidden(quorum)) return { masters: [master], remarks: [] };
  const remark = warning(
    'The Sentinels can’t agree on a failover: too few of them reach each other.',
    'Run at least three on separate machines, with a quorum that two of them reach.',
  );
  return { masters: [master], remarks: [remark] };
}

async function queryNode(send: Send, node: RedisServer, target: RedisTarget): Promise<Topology> {
  const slots = await send('CLUSTER', 'SLOTS');
  const isAnyForbidden = isForbidden(slots) || isForbidden(await send('CLUSTER', 'INFO'));
  const forbidden = problem(
    'The user in REDIS_URL may not run CLUSTER SLOTS and CLUSTER INFO, which Cloakroom needs to find the masters.',
    'Allow both on every node: ACL SETUSER <user> +cluster|slots +cluster|info',
  );
  const ranges = 'value' in slots && Array.isArray(slots.value) ? slots.value : [];
  const noCluster = problem(
    'A node in REDIS_URL belongs to no cluster, or to one without slots.',
    'Use redis:// for a single Redis.',
  );
  return {
    masters: (ranges as [unknown, unknown, [host: string | null, port: number]][]).map(
      ([, , [host, port]]) => {
        // A node that does not know its own address gives null, "" or "?".
        const isUnknown = host === null || host === '' || host === '?';
        return toServer({ host: isUnknown ? (node.options.host ?? '') : host, port }, target);
      },
    ),
    remarks: isAnyForbidden ? [forbidden] : ranges.length === 0 ? [noCluster] : [],
  };
}
