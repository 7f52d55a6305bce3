import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../support/constants.ts';

interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly nodeOptions?: readonly string[];
}

/**
 * Creates a minimal project folder with the scripts. The package-lock.json has no dependencies, so that `npm ci` has nothing
 * to do.
 */
export async function createSmallProject(files: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-project-'));
  const write = async (path: string, content: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  };
  const start = (script: string, { args = [], env = {}, nodeOptions = [] }: StartOptions = {}) =>
    spawn(process.execPath, [...nodeOptions, join(folder, 'scripts', script), ...args], {
      cwd: folder, // like npm
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  await cp(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  const entries = Object.entries({ 'package.json': '{"type":"module"}', ...NO_PACKAGES, ...files });
  await Promise.all(entries.map(([path, content]) => write(path, content)));
  return {
    folder,
    write,
    start,
    async run(script: string, options?: StartOptions) {
      const child = start(script, options);
      const exit = once(child, 'exit') as Promise<[number | null]>;
      const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
      return { code, stdout, stderr };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const NO_PACKAGES = {
  'package-lock.json': '{"packages":{"":{}}}',
  'node_modules/.package-lock.json': '{"packages":{"node_modules/nothing":{}}}',
};

/** Creates a compilable project with Cloakroom's tsconfig files, compilers and page scripts, and with an empty server. */
export async function createCompilableProject(files: Readonly<Record<string, string>>) {
  const project = await createSmallProject({ 'src/run.ts': 'export {};\n', ...files });
  await cp(join(ROOT, 'src/load-server.ts'), join(project.folder, 'src/load-server.ts'));
  await cp(join(ROOT, 'public'), join(project.folder, 'public'), { recursive: true }); // the build copies it and writes to the copy
  const packages = ['@types', 'undici-types', 'typescript', '@typescript', 'esbuild', '@esbuild'];
  await Promise.all(
    [
      ...['tsconfig.json', 'tsconfig.build.json', 'src/browser'],
      ...packages.map((name) => `node_modules/${name}`),
    ].map((path) => symlink(join(ROOT, path), join(project.folder, path))),
  );
  return project;
}
