import { Agent, request } from 'undici';
import { startStopwatch } from '../stopwatch.ts';
import { ME_PATH } from './service.ts';

/** What came of one call; `status` is 0 where the connection broke. */
export interface Answer {
  readonly status: number;
  /** `code` of a problem of Cloakroom's own. */
  readonly code?: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** From the question to the last byte of the answer, by a stopwatch. */
  readonly ms: number;
}

export interface CallOptions {
  readonly path?: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Many connections, each used again; none is retried. */
const agent = new Agent({ connections: 600, pipelining: 1 });

/** Closes the connections that calls have left open. */
export async function closeCalls(): Promise<void> {
  await agent.close();
}

/** Calls one process with a session's cookie; never rejects. */
export async function call(url: string, cookie: string, options: CallOptions = {}): Promise<Answer> {
  const { path = ME_PATH, method = 'GET', body } = options;
  const headers = { cookie, ...options.headers };
  using watch = startStopwatch();
  try {
    const answer = await request(url + path, { dispatcher: agent, method, headers, ...(body && { body }) });
    const text = await answer.body.text();
    const { code } = answer.headers['content-type'] === 'application/problem+json' ? JSON.parse(text) : {};
    const { statusCode: status, headers: answered } = answer;
    return { status, code, body: text, headers: answered, ms: watch.ms() };
  } catch {
    return { status: 0, body: '', headers: {}, ms: watch.ms() };
  }
}

/** Asks one process to end a session. */
export async function signOut(
  url: string,
  cookie: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const sameSite = { 'sec-fetch-site': 'same-origin', ...headers };
  return call(url, cookie, { path: '/auth/logout', method: 'POST', headers: sameSite });
}

/** How many answers there were of each kind: `{"200": 12, "503 session_store_unavailable": 3}`. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, code } of answers) {
    const kind = code === undefined ? String(status) : `${status} ${code}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/** Calls that go on beside what a test does to the testApp. */
export interface Load {
  /** All answers so far. */
  readonly answers: Answer[];
  /** Resolves with the first answer from now on that has this status. */
  next(status: number): Promise<Answer>;
  /** Lets the calls under way finish. */
  stop(): Promise<Answer[]>;
}

/** `callers` who call one after the other as long as the load goes on; `ask` is given the number of the call. */
export function startLoad(callers: number, ask: (count: number) => Promise<Answer>): Load {
  const answers: Answer[] = [];
  const waiting = new Set<(answer: Answer) => void>();
  const over = new AbortController();
  let count = 0;
  const goOn = async () => {
    while (!over.signal.aborted) {
      const answer = await ask(count++);
      answers.push(answer);
      for (const look of waiting) look(answer);
    }
  };
  const all = Promise.all(Array.from({ length: callers }, goOn));
  return {
    answers,
    next: async (status) =>
      new Promise((resolve) => {
        const look = (answer: Answer) => {
          if (answer.status !== status) return;
          waiting.delete(look);
          resolve(answer);
        };
        waiting.add(look);
      }),
    async stop() {
      over.abort();
      await all;
      return answers;
    },
  };
}
