import { variableNames } from '../../../config/load.ts';
import { isMissing } from '../../../config/env.ts';
import type { Finding } from '../checks.ts';
import type { Settings } from '../settings.ts';
import { ok, problem } from '../finding.ts';

/**
 * What `loadConfig` would refuse: a finding for each variable, or one where all are in order. `ignoresDotEnv`: a `.env`
 * stands here that is not read; then those that are missing are one finding.
 */
export function checkVariables({ problems }: Settings, ignoresDotEnv: boolean): Finding[] {
  if (problems.size === 0) {
    return [
      {
        id: 'variables',
        title: 'Variables',
        ...ok(`All ${variableNames.length} are set well, or left out.`),
      },
    ];
  }
  const isInDotEnv = (of: readonly string[]) => ignoresDotEnv && of.every(isMissing);
  const missing = [...problems].filter(([, of]) => isInDotEnv(of)).map(([name]) => name);
  const others = [...problems].filter(([, of]) => !isInDotEnv(of));
  return [
    ...(missing.length > 0 ? [toDotEnvFinding(missing)] : []),
    ...others.map(([name, of]) => toFinding(name, of)),
  ];
}

function toFinding(name: string, problems: readonly string[]): Finding {
  return {
    id: `variable:${name}`,
    title: name,
    ...problem(`${problems.join('. ')}.`, remedyOf(name, problems)),
  };
}

function toDotEnvFinding(missing: readonly string[]): Finding {
  return {
    id: 'dot-env',
    title: '.env',
    ...problem(
      `The .env in this folder is not read in production, and nothing else sets ${missing.join(', ')}.`,
      'Set them in the environment of Cloakroom, or, to try things out, NODE_ENV=development, which reads .env.',
    ),
  };
}

function remedyOf(name: string, problems: readonly string[]): string {
  if (problems.some((each) => each.includes("can't be read"))) {
    return 'Check the path, and that the user Cloakroom runs as may read the file.';
  }
  if (name === 'SESSION_KEYS')
    return 'Make a key with npm run -s keygen (in a container: node dist/cli/keygen.js).';
  return `Set ${name} as .env.example and docs/operations.md explain it.`;
}
