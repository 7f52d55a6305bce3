import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { send, type FleetResponse, type RequestOptions } from './requests.ts';
import type { BalancedFleet } from './load-balancer.ts';
import type { TestSession } from './fleet.ts';
import { ME_PATH } from './service.ts';

const SLOW = '/api/public/v1/slow';
const STREAM = '/api/public/v1/stream';
const ITEMS = '/api/public/v1/items';
const SLOW_MS = 1_500;
const CHUNKS = 15;
const LARGE = 'x'.repeat(200_000);

type Ask = () => Promise<FleetResponse>;

/** What front ends and their users do at once, each by a user in turn. An response that is not whole has status 0. */
interface MixedRequests {
  /** How often the service has got each POST, by the number that it was given. */
  readonly posts: ReadonlyMap<string, number>;
  readonly read: Ask;
  readonly page: Ask;
  readonly write: Ask;
  readonly upload: Ask;
  /** Each of these takes 1.5 s: two until the response begins, one from there on. */
  readonly slowRead: Ask;
  readonly slowWrite: Ask;
  readonly download: Ask;
}

/** Calls through the balancer; takes the service's place for what it does not know. */
export function createMixedRequests(
  { url, service }: BalancedFleet,
  users: readonly TestSession[],
): MixedRequests {
  const posts = new Map<string, number>();
  service.intercept = async (req, res) => {
    if (req.url?.startsWith(SLOW) === true) await delay(SLOW_MS);
    if (req.method === 'POST') await takePost(req, res, posts);
    else if (req.url === SLOW) res.end('slow');
    else if (req.url === STREAM) await stream(res);
    else return false;
    return true;
  };

  let count = 0;
  const ask = async (options: RequestOptions, end: string): Promise<FleetResponse> => {
    const response = await send(url, users[(count += 1) % users.length]?.cookie ?? '', options);
    return response.status !== 200 || response.body.endsWith(end) ? response : { ...response, status: 0 };
  };
  const post = async (path: string, body: string) => {
    const headers = { origin: url, 'x-post': `${count}` };
    return ask({ method: 'POST', path, body, headers }, `took ${body.length}`);
  };
  return {
    posts,
    read: async () => ask({ path: ME_PATH }, '}'),
    page: async () => ask({ path: '/workspaces?page=2' }, '</html>\n'),
    write: async () => post(ITEMS, 'small'),
    upload: async () => post(ITEMS, LARGE),
    slowRead: async () => ask({ path: SLOW }, 'slow'),
    slowWrite: async () => post(SLOW, 'small'),
    download: async () => ask({ path: STREAM }, 'end'),
  };
}

/** Says how much has come, and counts who. */
async function takePost(
  req: IncomingMessage,
  res: ServerResponse,
  posts: Map<string, number>,
): Promise<void> {
  const id = String(req.headers['x-post']);
  posts.set(id, (posts.get(id) ?? 0) + 1);
  let length = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) length += chunk.length;
  res.end(`took ${length}`);
}

async function stream(res: ServerResponse): Promise<void> {
  for (let at = 0; at < CHUNKS; at += 1) {
    res.write(`line ${at}\n`);
    await delay(SLOW_MS / CHUNKS);
  }
  res.end('end');
}
