import { variableNames } from '../../../config.ts';
import type { Finding } from '../checks.ts';
import type { Settings } from '../settings.ts';
import { ok } from '../verdict.ts';

/**
 * What `loadConfig` would refuse: a finding for each variable, or one where all are in order. `ignoresDotEnv`: a `.env`
 * stands here that is not read.
 */
export function checkVariables(settings: Settings, ignoresDotEnv: boolean): Finding[] {
  if (settings.problems.size === 0) {
    return [
      {
        id: 'variables',
        title: 'Variables',
        ...ok(`All ${variableNames.length} are set well, or left out.`),
      },
    ];
  }
  return [...settings.problems].map(([name, problems]) => ({
    id: `variable:${name}`,
    status: 'problem',
    title: name,
    detail: `${problems.join('. ')}.`,
    remedy: remedyOf(name, problems, ignoresDotEnv),
  }));
}

function remedyOf(name: string, problems: readonly string[], ignoresDotEnv: boolean): string {
  const isMissing = problems.some((each) => each.includes('is required'));
  if (isMissing && ignoresDotEnv) {
    return `Set ${name}. The .env that stands here is not read in production: NODE_ENV=development reads it.`;
  }
  if (problems.some((each) => each.includes("can't be read"))) {
    return 'Check the path, and that the user Cloakroom runs as may read the file.';
  }
  if (name === 'SESSION_KEYS')
    return 'Make a key with npm run -s keygen (in a container: node dist/cli/keygen.js).';
  return `Set ${name} as .env.example and docs/operations.md explain it.`;
}
