const PARTS = ['session', 'token', 'service'] as const;

/** Measures the parts of a call for `Server-Timing` (W3C), in ms. */
export interface ServerTiming {
  /** Runs a part and adds what it took. */
  measure<T>(part: (typeof PARTS)[number], run: () => Promise<T>): Promise<T>;
  /** The header's value; a part that was not reached took no time. */
  value(): string;
}

export function createServerTiming(): ServerTiming {
  const spent = { session: 0, token: 0, service: 0 };
  return {
    async measure(part, run) {
      const started = performance.now();
      try {
        return await run();
      } finally {
        spent[part] += performance.now() - started;
      }
    },
    value: () => PARTS.map((part) => `${part};dur=${spent[part].toFixed(1)}`).join(', '),
  };
}
