import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadConfig } from '../../../src/config/load.ts';
import { minimalEnv, problemsOf } from './minimal-env.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloakroom-config-'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync(join(folder, 'pipe'), join(folder, 'link'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the minimal environment with one variable moved to a file. */
function withFile(name: keyof typeof minimalEnv, content: string): Record<string, string> {
  const path = join(folder, name);
  writeFileSync(path, content);
  return { ...minimalEnv, [name]: '', [`${name}_FILE`]: path };
}

test.each(['CLIENT_SECRET', 'REDIS_URL', 'SESSION_KEYS'] as const)('%s may come from a file', (name) => {
  expect(loadConfig(withFile(name, ` ${minimalEnv[name]}\r\n`))).toEqual(loadConfig(minimalEnv));
});

test('a variable that is not a secret is not read from a file', () => {
  expect(problemsOf(withFile('CLIENT_ID', 'an-app'))).toEqual(['CLIENT_ID is required']);
});

test('a variable and its _FILE variable must not both be set', () => {
  const env = { ...withFile('CLIENT_SECRET', 'another'), CLIENT_SECRET: 'a-secret' };
  expect(problemsOf(env)).toEqual(['CLIENT_SECRET and CLIENT_SECRET_FILE are both set: set only one']);
});

test.each([
  ['a missing file', 'missing', 'ENOENT'],
  ['a folder', '', 'it is not a regular file'],
  ['a pipe', 'pipe', 'it is not a regular file'],
  ['a device', '/dev/zero', 'it is not a regular file'],
  ['a link to a pipe', 'link', 'it is not a regular file'],
])('a _FILE variable with the path of %s is a problem', (_what, path, why) => {
  const env = { ...minimalEnv, REDIS_URL: '', REDIS_URL_FILE: resolve(folder, path) };
  expect(problemsOf(env)).toEqual([`REDIS_URL_FILE names a file that can't be read (${why})`]);
});

test('a secret file may be a symbolic link', () => {
  const env = withFile('CLIENT_SECRET', minimalEnv.CLIENT_SECRET);
  const link = join(folder, 'link to a file');
  symlinkSync(env['CLIENT_SECRET_FILE'] ?? '', link);
  expect(loadConfig({ ...env, CLIENT_SECRET_FILE: link })).toEqual(loadConfig(minimalEnv));
});

test('a secret file may be at most 64 KiB long', () => {
  const padded = minimalEnv.CLIENT_SECRET.padEnd(65_536);
  expect(loadConfig(withFile('CLIENT_SECRET', padded))).toEqual(loadConfig(minimalEnv));
  expect(problemsOf(withFile('CLIENT_SECRET', `${padded} `))).toEqual([
    "CLIENT_SECRET_FILE names a file that can't be read (it is larger than 64 KiB)",
  ]);
});

test('an empty secret file is a problem', () => {
  expect(problemsOf(withFile('CLIENT_SECRET', '\n'))).toEqual(['CLIENT_SECRET_FILE names an empty file']);
});

test('problems with a value from a file never quote the value', () => {
  const problems = problemsOf(withFile('SESSION_KEYS', 'hunter2'));
  expect(problems).toEqual([expect.stringMatching(/^SESSION_KEYS \(from SESSION_KEYS_FILE\) has a key/)]);
  expect(problems.join('\n')).not.toContain('hunter2');
});
