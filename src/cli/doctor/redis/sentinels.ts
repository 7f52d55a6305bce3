import { toSentinelLogin } from '../../../platform/redis-login.ts';
import { warning } from '../verdict.ts';
import type { RedisAnswer } from './link.ts';
import { distinct, toPlace } from './place.ts';
import type { Place } from './place.ts';
import { askEach, lost } from './survey.ts';
import type { SentinelTarget, Survey } from './survey.ts';

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

/** Asks every Sentinel who the master is, and whether they could agree on another one. Never rejects with a Failure. */
export async function askSentinels(target: SentinelTarget): Promise<Survey> {
  const login = toSentinelLogin(target);
  const sentinels = target.sentinels.map((address) => toPlace(address, login));
  const { said, remarks } = await askEach(sentinels, 'Sentinel', async (link) => ({
    master: toMaster(await link.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', target.master), target),
    hasQuorum: 'value' in (await link.ask('SENTINEL', 'CKQUORUM', target.master)),
  }));
  const masters = distinct(said.flatMap(({ master }) => master ?? []));
  const [first] = masters;
  if (first === undefined) return lost([...(said.length > 0 ? [UNKNOWN_NAME] : []), ...remarks]);
  return {
    masters: [first],
    remarks: [
      ...remarks,
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
