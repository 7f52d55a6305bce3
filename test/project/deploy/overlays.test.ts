import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { loadConfig } from '../../../src/config/load.ts';
import { ROOT } from '../../support/constants.ts';
import { buildManifests, theOne } from './manifests.ts';

const OVERLAYS = readdirSync(join(ROOT, 'deploy/kubernetes/overlays')).map((name) => `overlays/${name}`);

describe.each(OVERLAYS)('deploy/kubernetes/%s', (folder) => {
  test('is a configuration that Cloakroom starts with', async () => {
    const manifests = await buildManifests(folder);
    const settings = theOne(manifests, 'ConfigMap').data ?? {};
    const [container] = theOne(manifests, 'Deployment').spec?.template.spec?.containers ?? [];
    const secrets = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
    try {
      await writeFile(join(secrets, 'client-secret'), 'a secret\n');
      await writeFile(join(secrets, 'redis-url'), redisUrlIn(folder));
      await writeFile(join(secrets, 'session-keys'), `${Buffer.alloc(32, 7).toString('base64url')}\n`);
      const files = (container?.env ?? []).map(({ name, value = '' }) => [
        name,
        join(secrets, basename(value)),
      ]);
      const config = loadConfig({ NODE_ENV: 'production', ...settings, ...Object.fromEntries(files) });
      expect(config.trustProxy).toBe(1);
      const ingress = theOne(manifests, 'Ingress').spec;
      expect(ingress?.rules?.map(({ host }) => `https://${host}`)).toEqual([config.publicOrigin]);
      expect(ingress?.tls?.[0]?.hosts).toEqual(ingress?.rules?.map(({ host }) => host));
    } finally {
      await rm(secrets, { recursive: true, force: true });
    }
  });
});

/** The REDIS_URL that an overlay tells of, with a user and a password. */
function redisUrlIn(folder: string): string {
  const text = readFileSync(join(ROOT, 'deploy/kubernetes', folder, 'kustomization.yaml'), 'utf8');
  const [, url = ''] = /redis-url: (\S+)/.exec(text) ?? [];
  return url.replace('USER', 'cloakroom').replace('PASSWORD', 'a-password');
}
