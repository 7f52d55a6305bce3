import { toSentinelLogin } from '../../redis/login.ts';
import { warning } from './finding.ts';
import { isForbidden } from './redis-connection.ts';
import type { RedisAnswer } from './redis-connection.ts';
import { distinct, toPlace } from './redis/place.ts';
import type { Place } from './redis/place.ts';
import { askEach, lost } from './redis/survey.ts';
import type { SentinelTarget, Survey } from './redis/survey.ts';

const TOO_FEW = warning(
  'The Sentinels are too few to agree on a failover.',
  'Run at least three, on machines of their own, with a quorum that the rest of them reaches when one is away.',
);
const DISAGREE = warning(
  'The Sentinels name different masters.',
  'Wait for a failover to end; then compare their configurations.',
);
const UNKNOWN_NAME = warning(
  'No Sentinel watches over a master of the name in REDIS_URL.',
  'Compare the name after the last / of REDIS_URL with “sentinel monitor” in their configuration.',
);

const FORBIDDEN = warning(
  'Who asks Sentinels for the master may not.',
  'Allow it at each of them: ACL SETUSER default +info +subscribe &+switch-master +sentinel|get-master-addr-by-name +sentinel|sentinels',
);

/** Asks every Sentinel who the master is, and whether they could agree on another one. Never rejects with a Failure. */
export async function askSentinels(target: SentinelTarget): Promise<Survey> {
  const login = toSentinelLogin(target);
  const sentinels = target.sentinels.map((address) => toPlace(address, login));
  const { said, remarks } = await askEach(sentinels, 'Sentinel', async (link) => {
    const master = await link.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master);
    const quorum = await link.ask('SENTINEL', 'CKQUORUM', target.master);
    return {
      master: toMaster(master, target),
      isForbidden: isForbidden(master),
      // Only we ask that: who may not know nothing of it.
      hasQuorum: 'value' in quorum || isForbidden(quorum),
    };
  });
  const masters = distinct(said.flatMap(({ master }) => master ?? []));
  const [first] = masters;
  const forbidden = said.some((each) => each.isForbidden) ? [FORBIDDEN] : [];
  if (first === undefined) {
    const unknown = said.some((each) => !each.isForbidden) ? [UNKNOWN_NAME] : [];
    return lost([...unknown, ...forbidden, ...remarks]);
  }
  return {
    masters: [first],
    remarks: [
      ...remarks,
      ...forbidden,
      ...(masters.length > 1 ? [DISAGREE] : []),
      ...(said.some(({ hasQuorum }) => hasQuorum) ? [] : [TOO_FEW]),
    ],
  };
}

function toMaster(answer: RedisAnswer, target: SentinelTarget): Place | undefined {
  if (!('value' in answer) || !Array.isArray(answer.value)) return undefined;
  const [host, port] = answer.value as [string, string];
  return toPlace({ host, port: Number(port) }, target, target.db);
}
