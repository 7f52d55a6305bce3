import { Agent, request } from 'undici';
import { startStopwatch } from '../stopwatch.ts';
import { ME_PATH } from './service.ts';

/** The outcome of a request. */
export interface FleetResponse {
  /** The response status, or 0 if the connection failed. */
  readonly status: number;
  /** The `code` of a Cloakroom problem response. */
  readonly code?: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The time from the start of the request to the last byte of the response. */
  readonly ms: number;
}

export interface RequestOptions {
  readonly path?: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const createAgent = () => new Agent({ connections: 600, pipelining: 1 });
let agent = createAgent();

/** Closes all connections. Later requests open new connections. */
export async function closeConnections(): Promise<void> {
  const closing = agent;
  agent = createAgent();
  await closing.close();
}

/** Sends a request with this cookie to one process. Never rejects or retries. */
export async function send(
  url: string,
  cookie: string,
  options: RequestOptions = {},
): Promise<FleetResponse> {
  const { path = ME_PATH, method = 'GET', body } = options;
  const headers = { cookie, ...options.headers };
  using watch = startStopwatch();
  try {
    const response = await request(url + path, { dispatcher: agent, method, headers, ...(body && { body }) });
    const text = await response.body.text();
    const isProblem = response.headers['content-type'] === 'application/problem+json';
    const { code } = isProblem ? JSON.parse(text) : {};
    return { status: response.statusCode, code, body: text, headers: response.headers, ms: watch.ms() };
  } catch {
    return { status: 0, body: '', headers: {}, ms: watch.ms() };
  }
}

export async function signOut(
  url: string,
  cookie: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<FleetResponse> {
  const sameOrigin = { 'sec-fetch-site': 'same-origin', ...headers };
  return send(url, cookie, { path: '/auth/logout', method: 'POST', headers: sameOrigin });
}

/** Counts responses by status and code: `{"200": 12, "503 session_store_unavailable": 3}`. */
export function tally(responses: readonly FleetResponse[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code } of responses) {
    const kind = code === undefined ? String(status) : `${status} ${code}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** Requests that a test sends in the background. */
export type Load = ReturnType<typeof startLoad>;

/** Starts clients, each of which sends one request after another. `sendOne` receives the number of the request. */
export function startLoad(clients: number, sendOne: (count: number) => Promise<FleetResponse>) {
  const responses: FleetResponse[] = [];
  const listeners = new Set<(response: FleetResponse) => void>();
  const over = new AbortController();
  let count = 0;
  const sendAll = async () => {
    while (!over.signal.aborted) {
      const response = await sendOne(count++);
      responses.push(response);
      for (const listener of listeners) listener(response);
    }
  };
  const all = Promise.all(Array.from({ length: clients }, sendAll));
  return {
    /** All responses so far. */
    responses,
    /** Resolves with the next response that has this status. */
    next: async (status: number) =>
      new Promise<FleetResponse>((resolve) => {
        const listener = (response: FleetResponse) => {
          if (response.status !== status) return;
          listeners.delete(listener);
          resolve(response);
        };
        listeners.add(listener);
      }),
    /** Stops sending and waits for the requests in flight. */
    async stop() {
      over.abort();
      await all;
      return responses;
    },
  };
}
