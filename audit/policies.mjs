import { CspEvaluator } from 'csp_evaluator/dist/evaluator.js';
import { Severity } from 'csp_evaluator/dist/finding.js';
import { CspParser } from 'csp_evaluator/dist/parser.js';
import { request } from 'undici';

/** One page of each kind, and a response of the service, which may be a page. Problems and other JSON are not pages. */
const PATHS = [
  '/',
  '/workspaces',
  '/console',
  '/console/guide',
  '/no-such-page',
  '/api/public/v1/workspaces',
];
const SERIOUS = new Set([Severity.HIGH, Severity.SYNTAX, Severity.MEDIUM]);
/** What it would have us look into, by directive and value, and what we found. @type {Readonly<Record<string, string>>} */
const LOOKED_INTO = {
  "script-src 'self'":
    'scripts of ours alone: templates escape, and what the API answers is sent with nosniff',
};

/**
 * Evaluates each Content-Security-Policy with Google's csp_evaluator. A result of high or medium severity, or a new lower one, is a
 * finding.
 * @param {import('./support/stage.mjs').Stage} stage
 * @returns {Promise<import('./support/run-scanner.mjs').Verdict[]>}
 */
export async function evaluatePolicies({ direct, cookie }) {
  return Promise.all(
    PATHS.map(async (path) => {
      const { headers, body } = await request(direct + path, { headers: { cookie } });
      await body.dump();
      // Browsers apply every policy of a response. Ours comes after the service's own.
      const policy =
        String(headers['content-security-policy'] ?? '')
          .split(',')
          .at(-1) ?? '';
      const { result, findings } = judge(policy);
      return { scanner: 'csp_evaluator', target: path, result, findings };
    }),
  );
}

/** @param {string} policy */
function judge(policy) {
  const all = new CspEvaluator(new CspParser(policy).csp)
    .evaluate()
    .map(({ severity, description, directive, value = '' }) => ({
      severity,
      description,
      key: `${directive} ${value}`.trim(),
    }));
  const findings = all.filter(({ severity, key }) => SERIOUS.has(severity) || LOOKED_INTO[key] === undefined);
  const known = all.filter((finding) => !findings.includes(finding));
  return {
    result: known.length === 0 ? 'nothing' : `nothing but a note: ${known.map(({ key }) => key).join('; ')}`,
    findings: findings.map(({ key, description }) => `${key}: ${description}`),
  };
}
