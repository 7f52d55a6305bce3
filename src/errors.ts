/** A way on for a person, shown as a link on an error page. */
export interface ErrorAction {
  /** A path of ours. */
  readonly href: string;
  readonly label: string;
}

/** A way on that comes back: made from the path to come back to. */
type ReturningAction = (returnPath: string) => ErrorAction;

/** What of an error may leave the testApp, beside its status: nothing here is secret or internal. */
export interface ErrorDetails {
  /** One sentence for the person or program that asked; defaults to the title. */
  readonly detail?: string;
  /** Members that problem+json adds (RFC 9457 §3.2), e.g. `loginUrl`. */
  readonly extensions?: Readonly<Record<string, string>>;
  /** Response headers, e.g. `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The way on; error pages find one themselves where it is absent. */
  readonly action?: ErrorAction | ReturningAction;
  /** What lies behind it: for the log only. */
  readonly cause?: unknown;
}

/**
 * An error with a designed answer. Everything in it but `cause` may be shown; one place per kind of answer
 * (problem.ts, error-pages.ts) turns it into one.
 */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  /** HTTP status of the answer. */
  readonly status: number;
  /** Stable machine-readable name of the error. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly extensions: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly action: ErrorAction | ReturningAction | undefined;

  constructor(status: number, code: string, title: string, details: ErrorDetails = {}) {
    super(title, { cause: details.cause });
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = details.detail ?? title;
    this.extensions = details.extensions ?? {};
    this.headers = details.headers ?? {};
    this.action = details.action;
  }
}

/** Redis is away, full or too slow: sessions are kept and the cookie stays; try again soon. */
export class StoreUnavailableError extends AppError {
  override readonly name = 'StoreUnavailableError';

  constructor(cause: unknown) {
    super(503, 'session_store_unavailable', 'Cloakroom is briefly unavailable', {
      detail: 'Nothing is lost, and nobody is signed out by this.',
      headers: { 'retry-after': '2' },
      cause,
    });
  }
}

/**
 * The designed error that an unknown one stands for: itself, or else a 500 that says nothing of its cause.
 */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  return new AppError(500, 'internal_error', 'Something went wrong on our side', {
    detail: 'Cloakroom could not finish this. Try again in a moment; if it happens again, ask for help.',
    cause: error,
  });
}

/** A reason why the process can't start. Its message is all that the operator needs to see: no stack is shown. */
export class StartupError extends Error {
  override readonly name: string = 'StartupError';
}
