import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createConfig, lint } from '@redocly/openapi-core';

/** Sign-in begins with a redirect, and with nothing else. */
const NO_2XX = '#/paths/~1auth~1login/get/responses';

test('The linter finds nothing wrong with openapi.json', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const ref = fileURLToPath(new URL('../../../public/openapi.json', import.meta.url));
  const problems = await lint({ ref, config });
  const found = problems.map(({ ruleId, message, location }) => [ruleId, location[0]?.pointer, message]);
  expect(found).toEqual([['operation-2xx-response', NO_2XX, expect.any(String)]]);
});
