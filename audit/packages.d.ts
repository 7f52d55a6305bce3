// Declares types for packages that only `npm run audit:web` installs. tsc can then check the audit without those packages.

declare module '@mdn/mdn-http-observatory' {
  export interface ScanResult {
    readonly scan: {
      readonly grade: string;
      readonly score: number;
      readonly testsPassed: number;
      readonly testsQuantity: number;
    };
    readonly tests: Readonly<Record<string, { readonly pass: boolean; readonly result: string }>>;
  }
  export function scan(host: string): Promise<ScanResult>;
}

declare module 'axios' {
  const axios: {
    readonly defaults: { readonly headers: { readonly common: Record<string, string> } };
    get(
      url: string,
      options: { readonly maxRedirects: number; readonly validateStatus: () => boolean },
    ): Promise<{ readonly status: number }>;
  };
  export default axios;
}

declare module 'csp_evaluator/dist/evaluator.js' {
  export class CspEvaluator {
    constructor(csp: object);
    evaluate(): {
      readonly severity: number;
      readonly directive: string;
      readonly value?: string;
      readonly description: string;
    }[];
  }
}

declare module 'csp_evaluator/dist/finding.js' {
  export const Severity: Readonly<Record<'HIGH' | 'SYNTAX' | 'MEDIUM', number>>;
}

declare module 'csp_evaluator/dist/parser.js' {
  export class CspParser {
    constructor(policy: string);
    readonly csp: object;
  }
}
