import { problem } from '../finding.ts';
import { isForbidden } from '../redis-connection.ts';
import type { RedisAnswer } from '../redis-connection.ts';
import { distinct, toPlace } from './place.ts';
import type { Place } from './place.ts';
import { askEach, lost } from './survey.ts';
import type { ClusterTarget, Survey } from './survey.ts';

const NO_CLUSTER = problem(
  'What answers is no cluster, or one without slots.',
  'Use redis:// for a Redis that stands alone.',
);
const DOWN = problem(
  'The cluster is down: some of its slots are served by nobody.',
  'Look at CLUSTER NODES, and bring its masters back.',
);

const FORBIDDEN = problem(
  'Its user may not run CLUSTER SLOTS and CLUSTER INFO: without either Cloakroom does not find its way.',
  'Allow them to the user in REDIS_URL, on every node: ACL SETUSER <user> +cluster|slots +cluster|info',
);

/** Asks every node in REDIS_URL who the masters are. Never rejects with a Failure. */
export async function askCluster(target: ClusterTarget): Promise<Survey> {
  const nodes = target.nodes.map((address) => toPlace(address, target));
  const { said, remarks } = await askEach(nodes, 'Node', async (link, node) => {
    const slots = await link.ask('CLUSTER', 'SLOTS');
    const info = await link.ask('CLUSTER', 'INFO');
    return {
      masters: toMasters(slots, node, target),
      isForbidden: isForbidden(slots) || isForbidden(info),
      isDown: saysDown(info),
    };
  });
  const forbidden = said.some((each) => each.isForbidden) ? [FORBIDDEN] : [];
  const found = said.find(({ masters }) => masters.length > 0);
  if (found === undefined) {
    const noCluster = said.length > 0 && forbidden.length === 0 ? [NO_CLUSTER] : [];
    return lost([...noCluster, ...forbidden, ...remarks]);
  }
  const down = said.some(({ isDown }) => isDown) ? [DOWN] : [];
  return { masters: found.masters, remarks: [...remarks, ...forbidden, ...down] };
}

/** The master of each range of slots, each once. A node that does not know its own address says null, "" or "?". */
function toMasters(answer: RedisAnswer, asked: Place, target: ClusterTarget): Place[] {
  if (!('value' in answer) || !Array.isArray(answer.value)) return [];
  const ranges = answer.value as [unknown, unknown, [string | null, number]][];
  return distinct(
    ranges.map(([, , [host, port]]) => {
      const isUntold = host === null || host === '' || host === '?';
      return toPlace({ host: isUntold ? (asked.options.host ?? '') : host, port }, target);
    }),
  );
}

function saysDown(answer: RedisAnswer): boolean {
  return 'value' in answer && /^cluster_state:fail/m.test(String(answer.value));
}
