/** The response for an error code, sent as problem+json (RFC 9457) or as a page. */
interface Problem {
  readonly status: number;
  readonly title: string;
  /** Default advice on what to do next. */
  readonly detail: string;
  /** Default number of seconds in `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Adds `Connection: close`, because the end of the request is uncertain or the process is about to exit. */
  readonly closes?: true;
  /** Extension members of the problem+json response (RFC 9457 §3.2). */
  readonly extensions?: Readonly<Record<string, string>>;
  /** Label of the sign-in link on the error page. */
  readonly signInLabel?: string;
}

const LOGIN = { loginUrl: '/auth/login' };

/** Problems in response to API requests (docs/api.md). Most of these problems also appear on error pages. */
export const GATEWAY_PROBLEMS = {
  // Malformed requests
  bad_request: {
    status: 400,
    title: 'This request is malformed',
    detail: 'Send a valid HTTP/1.1 request.',
    closes: true,
  },
  http_version_not_supported: {
    status: 505,
    title: 'This version of HTTP is not supported',
    detail: 'Use HTTP/1.1.',
    closes: true,
  },
  expectation_failed: {
    status: 417,
    title: 'This Expect header is not supported',
    detail: 'Leave out the Expect header, or set it to 100-continue.',
    closes: true,
  },
  too_many_headers: {
    status: 431,
    title: 'The request has too many header fields',
    detail: 'Send fewer header fields.',
    closes: true,
  },

  // Refused requests
  method_not_allowed: {
    status: 405,
    title: 'This method is not allowed',
    detail: 'Use a method from the Allow header.',
  },
  bad_request_target: {
    status: 400,
    title: 'This address is malformed',
    detail: 'The address may be incomplete or mistyped. Check it and try again.',
  },
  path_not_allowed: {
    status: 404,
    title: 'This path is not part of the API',
    detail: 'Check the path. Cloakroom forwards only certain paths to the service.',
  },
  cross_site_request: {
    status: 403,
    title: 'This request came from another site',
    detail: 'Send the request from a page on this site. Outside a browser, add an X-Requested-With header.',
  },
  body_too_large: { status: 413, title: 'The request body is too large', detail: 'Send a smaller body.' },

  // Session
  sign_in_required: {
    status: 401,
    title: 'Sign in to use the API',
    detail: 'Sign in, then send the request again.',
    extensions: LOGIN,
  },
  session_expired: {
    status: 401,
    title: 'Your session has ended',
    detail: 'Sign in again to continue.',
    extensions: LOGIN,
  },
  session_store_unavailable: {
    status: 503,
    title: 'Cloakroom is briefly unavailable',
    detail: 'If you were signed in, you still are. Try again in a moment.',
    retryAfterSeconds: 2,
  },

  // Service
  token_endpoint_unavailable: {
    status: 503,
    title: 'Your access to the service can’t be refreshed right now',
    detail: 'You are still signed in. Try again in a moment.',
    retryAfterSeconds: 2,
  },
  service_unreachable: {
    status: 502,
    title: 'The service can’t be reached',
    detail: 'You are still signed in. Try again in a few minutes.',
  },
  service_timeout: {
    status: 504,
    title: 'The service is taking too long',
    detail: 'You are still signed in. Try again in a few minutes.',
  },

  // This server
  too_busy: {
    status: 503,
    title: 'Too many requests at once',
    detail: 'Wait a second, then try again.',
    retryAfterSeconds: 1,
  },
  draining: {
    status: 503,
    title: 'This server is shutting down',
    detail: 'Try again. Another server will take over.',
    retryAfterSeconds: 1,
    closes: true,
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    detail: 'Try again in a moment. If the problem persists, ask for help.',
  },
} as const satisfies Readonly<Record<string, Problem>>;

/** All problems that clients can receive, keyed by stable code (docs/decisions/0014). */
export const PROBLEMS = {
  ...GATEWAY_PROBLEMS,
  page_not_found: {
    status: 404,
    title: 'Page not found',
    detail: 'The address may be mistyped, or the page may have moved. Check the address and try again.',
  },

  // Sign-in
  sign_in_attempt_unknown: {
    status: 400,
    title: 'This sign-in can’t be completed',
    detail:
      'The sign-in has already been completed, took longer than ten minutes, or began in another browser or at another web address. Try again.',
    signInLabel: 'Try again',
  },
  too_many_sign_ins: {
    status: 429,
    title: 'Too many sign-in attempts',
    detail: 'Wait a few minutes, then try again. If you were signed in, you still are.',
  },
  access_denied: {
    status: 403,
    title: 'You didn’t allow access',
    detail: 'Nothing has changed. To sign in, try again and allow access.',
    signInLabel: 'Try again',
  },
  authorization_failed: {
    status: 502,
    title: 'You could not be signed in',
    detail: 'Try again in a few minutes.',
    signInLabel: 'Try again',
  },
  code_missing: {
    status: 400,
    title: 'You could not be signed in',
    detail: 'The service sent you back before you had finished signing in. Try again.',
    signInLabel: 'Try again',
  },
  code_refused: {
    status: 502,
    title: 'You could not be signed in',
    detail: 'The service confirmed your sign-in, but then rejected it. Try again.',
    signInLabel: 'Try again',
  },
  code_exchange_failed: {
    status: 502,
    title: 'You could not be signed in',
    detail: 'The service did not respond as expected. Try again in a few minutes.',
    signInLabel: 'Try again',
  },

  // Workspaces and exports
  too_many_pages: {
    status: 429,
    title: 'Too many pages at once',
    detail: 'Other pages are still loading. Wait a moment, then try again.',
    retryAfterSeconds: 2,
  },
  too_many_exports: {
    status: 429,
    title: 'Two exports are already running',
    detail: 'Wait until an export has finished, or stop one. Then try again.',
    retryAfterSeconds: 10,
  },
  service_refuses_sign_in: {
    status: 502,
    title: 'The service no longer accepts your sign-in',
    detail: 'Sign in again. If that doesn’t help, try again later.',
    signInLabel: 'Sign in again',
  },
  permission_missing: {
    status: 403,
    title: 'You don’t have access to this list',
    detail: 'Sign in again and allow access. If you still see this message, ask for help.',
    signInLabel: 'Sign in again',
  },
  list_not_found: {
    status: 404,
    title: 'This list can’t be found',
    detail: 'You may have lost access, or the content may have been removed. Go back to your workspaces.',
  },
  service_rate_limited: {
    status: 503,
    title: 'Too many requests just now',
    detail: 'The service is limiting requests. You are still signed in.',
    retryAfterSeconds: 1,
  },
  service_failed: {
    status: 502,
    title: 'This list can’t be loaded',
    detail: 'The service reported an error. You are still signed in. Try again in a few minutes.',
  },
  service_response_unreadable: {
    status: 502,
    title: 'The service sent an unexpected response',
    detail: 'You are still signed in. Try again in a few minutes.',
  },
  list_not_tabular: {
    status: 502,
    title: 'This list can’t be exported as CSV',
    detail: 'The items have no named fields, or too many. Export the list as NDJSON instead.',
  },
} as const satisfies Readonly<Record<string, Problem>>;

export type ProblemCode = keyof typeof PROBLEMS;

export interface AppErrorOptions {
  /** Replaces the default detail. Clients see this text, so it must not contain anything secret or internal. */
  readonly detail?: string | undefined;
  /** Replaces the default number of seconds in `Retry-After`. */
  readonly retryAfterSeconds?: number;
  /** Methods for the `Allow` header (RFC 9110 §10.2.1). */
  readonly allow?: string;
  /** Path to return to after signing in from the error page; by default, the path of the failed page. */
  readonly returnTo?: string;
  /** The cause, for the log only. */
  readonly cause?: unknown;
}

/** An error with a code from the table above. Clients can see everything except `cause`. */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;
  /** Response headers: any of `Retry-After`, `Connection` and `Allow`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signInLabel: string | undefined;
  readonly returnTo: string | undefined;

  constructor(code: ProblemCode, options: AppErrorOptions = {}) {
    const problem: Problem = PROBLEMS[code];
    super(problem.title, { cause: options.cause });
    this.code = code;
    this.status = problem.status;
    this.title = problem.title;
    this.detail = options.detail ?? problem.detail;
    this.extensions = problem.extensions ?? {};
    this.retryAfterSeconds = options.retryAfterSeconds ?? problem.retryAfterSeconds;
    this.headers = {
      ...(this.retryAfterSeconds !== undefined && { 'retry-after': String(this.retryAfterSeconds) }),
      ...(problem.closes && { connection: 'close' }),
      ...(options.allow !== undefined && { allow: options.allow }),
    };
    this.signInLabel = problem.signInLabel;
    this.returnTo = options.returnTo;
  }
}

/** The session or its grant has ended. The user must sign in again. */
export class SessionEndedError extends AppError {
  override readonly name = 'SessionEndedError';

  constructor(detail?: string) {
    super('session_expired', { detail });
  }
}

/** Returns an AppError unchanged. Wraps any other error in an `internal_error` that reveals nothing about it. */
export function toAppError(error: unknown): AppError {
  return error instanceof AppError ? error : new AppError('internal_error', { cause: error });
}

/** The process can't start. The operator sees only the message, without a stack trace. */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}
