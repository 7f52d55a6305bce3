/** One of the gateway's own answers. */
export interface GatewayProblem {
  readonly code: string;
  readonly status: number;
  /** What to do about it. */
  readonly advice: string;
}

/** The folder has the same place beside `src` and `dist`. */
const SCRIPT = new URL('../../public/console/gateway-problems.js', import.meta.url);

const { GATEWAY_PROBLEMS } = (await import(SCRIPT.href)) as {
  readonly GATEWAY_PROBLEMS: Readonly<Record<string, Omit<GatewayProblem, 'code'>>>;
};

/** Read from where browsers load them, so that the guide says what the console says. */
export const gatewayProblems: readonly GatewayProblem[] = Object.entries(GATEWAY_PROBLEMS).map(
  ([code, { status, advice }]) => ({ code, status, advice }),
);
