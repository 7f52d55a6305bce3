import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The variables whose values may come from a file. */
type SecretName = 'CLIENT_SECRET' | 'REDIS_URL' | 'SESSION_KEYS';

/** Creates a folder with a file for each of these secrets. */
export async function createSecretFolder(secrets: Readonly<Partial<Record<SecretName, string>>>) {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-secrets-'));
  const pathOf = (name: string) => join(folder, name);
  /** Replaces a file by renaming a new file over it, as the docs instruct operators to do. */
  const write = async (name: SecretName, value: string) => {
    await writeFile(pathOf(`${name}.new`), `${value}\n`);
    await rename(pathOf(`${name}.new`), pathOf(name));
  };
  const names = Object.keys(secrets) as SecretName[];
  for (const name of names) await write(name, secrets[name] ?? '');
  return {
    /** Sets `NAME_FILE` for each initial secret and leaves the plain variable empty. */
    env: Object.fromEntries(
      names.flatMap((name) => [
        [name, ''],
        [`${name}_FILE`, pathOf(name)],
      ]),
    ),
    write,
    remove: async (name: SecretName) => rm(pathOf(name)),
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}
