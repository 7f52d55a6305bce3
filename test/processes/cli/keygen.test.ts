import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { loadConfig } from '../../../src/config/load.ts';
import { minimalEnv } from '../../unit/config/minimal-env.ts';

const KEYGEN = fileURLToPath(new URL('../../../scripts/keygen.mjs', import.meta.url));

async function keygen(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [KEYGEN]);
  return stdout;
}

test('keygen prints a key that the configuration accepts, and nothing else', async () => {
  const output = await keygen();
  expect(output).toMatch(/^[\w-]{43}\n$/);
  const config = loadConfig({ ...minimalEnv, SESSION_KEYS: output.trim() });
  expect(config.sessionKeys).toHaveLength(1);
});

test('keygen prints a new key each time', async () => {
  expect(await keygen()).not.toBe(await keygen());
});
