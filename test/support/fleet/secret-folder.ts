import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The variables whose values may stand in a file. */
type SecretName = 'CLIENT_SECRET' | 'REDIS_URL' | 'SESSION_KEYS';

/** A folder with the files of secrets. */
export interface SecretFolder extends AsyncDisposable {
  /** `NAME_FILE` for each of the secrets that it began with, and the plain variable emptied. */
  readonly env: Readonly<Record<string, string>>;
  /** Puts a new file in the place of the old one, as operators are told to. */
  write(name: SecretName, value: string): Promise<void>;
  remove(name: SecretName): Promise<void>;
}

/** Makes a folder with these secrets. */
export async function createSecretFolder(
  secrets: Readonly<Partial<Record<SecretName, string>>>,
): Promise<SecretFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-secrets-'));
  const pathOf = (name: string) => join(folder, name);
  const write = async (name: SecretName, value: string) => {
    await writeFile(pathOf(`${name}.new`), `${value}\n`);
    await rename(pathOf(`${name}.new`), pathOf(name));
  };
  const names = Object.keys(secrets) as SecretName[];
  for (const name of names) await write(name, secrets[name] ?? '');
  return {
    env: Object.fromEntries(
      names.flatMap((name) => [
        [name, ''],
        [`${name}_FILE`, pathOf(name)],
      ]),
    ),
    write,
    remove: async (name) => rm(pathOf(name)),
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}
