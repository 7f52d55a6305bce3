import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../../support/constants.ts';

/** A value and the type that it should have. */
export interface TypeAssertion {
  readonly value: unknown;
  readonly type: string;
  /** The import specifier of the module that exports the type. */
  readonly from: string;
}

const OPTIONS = {
  noEmit: true,
  strict: true,
  module: 'nodenext',
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  types: [],
};

/**
 * Returns the compiler errors for the assertions. The values are literals in a program, so that the compiler also reports unknown
 * fields.
 */
export async function typeErrors(assertions: readonly TypeAssertion[]): Promise<string[]> {
  await mkdir(join(ROOT, '.cache'), { recursive: true });
  // The compiler finds the project's packages only if the folder is inside the project.
  const folder = await mkdtemp(join(ROOT, '.cache', 'types-'));
  try {
    const program = assertions.map(
      ({ value, type, from }, index) =>
        `import type { ${type} as T${index} } from ${JSON.stringify(from)};\n` +
        `export const v${index}: T${index} = ${JSON.stringify(value, null, 1)};\n`,
    );
    await writeFile(join(folder, 'assertions.ts'), program.join(''));
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: OPTIONS, files: ['assertions.ts'] }),
    );
    return (await compile(folder)).split('\n').filter((line) => line !== '');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function compile(folder: string): Promise<string> {
  const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), '--pretty', 'false', '--project', folder];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number]>]);
  if ((code === 0) !== (output === '')) throw new Error(`tsc ended with ${code}: ${output}`);
  return output;
}
