import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Runs promtool. Resolves with the output, or rejects if promtool finds an error. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('promtool', args);
  return stdout;
}

/** Checks PromQL expressions. Rejects with promtool's error if an expression is invalid. */
export async function expectPromQl(expressions: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  try {
    const rules = expressions.map((expr, index) => ({ record: `expression:${index}`, expr }));
    const file = join(folder, 'rules.yaml');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'expressions', rules }] })); // JSON is valid YAML
    await promtool('check', 'rules', file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
