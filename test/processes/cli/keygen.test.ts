import { expect, test } from '@jest/globals';
import { loadConfig } from '../../../src/config/load.ts';
import { startProgram } from '../../support/programs.ts';
import { minimalEnv } from '../../unit/config/minimal-env.ts';

test('keygen prints only a new key, which the configuration accepts', async () => {
  const keygen = async () => {
    await using program = await startProgram(process.execPath, ['scripts/keygen.mjs']);
    return (await program.waitForExit()).output;
  };
  const [key, other] = await Promise.all([keygen(), keygen()]);
  expect(key).toMatch(/^[\w-]{43}\n$/);
  expect(loadConfig({ ...minimalEnv, SESSION_KEYS: key.trim() }).sessionKeys).toHaveLength(1);
  expect(other).not.toBe(key);
});
