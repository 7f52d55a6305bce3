import { z } from 'zod';

/** One of the gateway's own answers. */
export interface GatewayProblem {
  readonly code: string;
  readonly status: number;
  /** What to do about it. */
  readonly advice: string;
}

/** The folder has the same place beside `src` and `dist`. */
const SCRIPT = new URL('../../public/console/gateway-problems.js', import.meta.url);

const scriptSchema = z.object({
  GATEWAY_PROBLEMS: z.record(z.string(), z.object({ status: z.int(), advice: z.string() })),
});

/** Runs the script that browsers load, so that the guide says what the console says. Rejects where it holds no problems. */
export async function loadGatewayProblems(): Promise<readonly GatewayProblem[]> {
  const { GATEWAY_PROBLEMS } = scriptSchema.parse(await import(SCRIPT.href));
  return Object.entries(GATEWAY_PROBLEMS).map(([code, { status, advice }]) => ({ code, status, advice }));
}
