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

/**
 * Creates what front ends and their users send at once, each request by the next user, through the load balancer. A response that
 * is not whole has status 0. Responds in place of the service to what that does not know.
 */
export function createMixedRequests({ url, service }: BalancedFleet, users: readonly TestSession[]) {
  const posts = new Map<string, number>();
  service.intercept = async (req, res) => {
    if (req.url?.startsWith(SLOW) === true) await delay(SLOW_MS);
    if (req.method === 'POST') await receivePost(req, res, posts);
    else if (req.url === SLOW) res.end('slow');
    else if (req.url === STREAM) await stream(res);
    else return false;
    return true;
  };

  let count = 0;
  const sendAsNextUser = async (options: RequestOptions, end: string): Promise<FleetResponse> => {
    const response = await send(url, users[(count += 1) % users.length]?.cookie ?? '', options);
    return response.status !== 200 || response.body.endsWith(end) ? response : { ...response, status: 0 };
  };
  const post = async (path: string, body: string) => {
    const headers = { origin: url, 'x-post': `${count}` };
    return sendAsNextUser({ method: 'POST', path, body, headers }, `took ${body.length}`);
  };
  return {
    /** How often the service has received each POST, by the number of the POST. */
    posts,
    read: async () => sendAsNextUser({ path: ME_PATH }, '}'),
    page: async () => sendAsNextUser({ path: '/workspaces?page=2' }, '</html>\n'),
    write: async () => post(ITEMS, 'small'),
    upload: async () => post(ITEMS, LARGE),
    // Each of these takes 1.5 s: two until the response begins, one from there on.
    slowRead: async () => sendAsNextUser({ path: SLOW }, 'slow'),
    slowWrite: async () => post(SLOW, 'small'),
    download: async () => sendAsNextUser({ path: STREAM }, 'end'),
  };
}

/** Responds with the length of the body, and counts the POST. */
async function receivePost(req: IncomingMessage, res: ServerResponse, posts: Map<string, number>) {
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
