import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js';
import { Severity } from 'csp_evaluator/dist/finding.js';
import { CspParser } from 'csp_evaluator/dist/parser.js';
import { request } from 'undici';

/** One page of each kind, and an API response because the service may send HTML. Other JSON responses are not scanned. */
const PATHS = [
  '/',
  '/workspaces',
  '/console',
  '/console/guide',
  '/no-such-page',
  '/api/public/v1/workspaces',
];
const SERIOUS = new Set([Severity.HIGH, Severity.SYNTAX, Severity.MEDIUM]);
/** The reasons for accepting results of low severity, keyed by directive and value. @type {Readonly<Record<string, string>>} */
const ACCEPTED = {
  "script-src 'self'":
    'only our scripts come from this origin, because templates escape and API responses have nosniff',
};

/**
 * Evaluates the Content-Security-Policy of each page with Google's csp_evaluator.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 * @returns {Promise<import('./support/run-scanner.mjs').ScannerResult[]>}
 */
export async function evaluatePolicies({ direct, cookie }) {
  return Promise.all(
    PATHS.map(async (path) => {
      const { headers, body } = await request(direct + path, { headers: { cookie } });
      await body.dump();
      // Browsers apply every policy in a response. The policy from Cloakroom comes after the policy from the service.
      const policy =
        String(headers['content-security-policy'] ?? '')
          .split(',')
          .at(-1) ?? '';
      const { result, findings } = evaluatePolicy(policy);
      return { scanner: 'csp_evaluator', target: path, result, findings };
    }),
  );
}

/**
 * Returns the result for a policy. A result is a finding if it has at least medium severity or is not accepted.
 * @param {string} policy
 */
function evaluatePolicy(policy) {
  const all = new CspEvaluator(new CspParser(policy).csp)
    .evaluate()
    .map(({ severity, description, directive, value = '' }) => ({
      severity,
      description,
      key: `${directive} ${value}`.trim(),
    }));
  const findings = all.filter(({ severity, key }) => SERIOUS.has(severity) || ACCEPTED[key] === undefined);
  const accepted = all.filter((finding) => !findings.includes(finding));
  return {
    result:
      accepted.length === 0 ? 'nothing reported' : `accepted: ${accepted.map(({ key }) => key).join('; ')}`,
    findings: findings.map(({ key, description }) => `${key}: ${description}`),
  };
}
