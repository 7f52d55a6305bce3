import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Runs promtool, and resolves with what it says; rejects with that where it finds fault. */
export async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('promtool', args);
  return stdout;
}

/** Rejects where Prometheus can't read one of the expressions, and says which. */
export async function expectPromQl(expressions: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  try {
    const rules = expressions.map((expr, index) => ({ record: `expression:${index}`, expr }));
    const file = join(folder, 'rules.yaml');
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: 'expressions', rules }] }));
    await promtool('check', 'rules', file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
