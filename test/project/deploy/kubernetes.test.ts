import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Container, PodSpec } from 'kubernetes-types/core/v1.js';
import type { HTTPIngressPath } from 'kubernetes-types/networking/v1.js';
import { parse } from 'yaml';
import { loadConfig } from '../../../src/config/load.ts';
import { ROUTES } from '../../../src/routes.ts';
import { ROOT } from '../../support/constants.ts';
import { buildManifests, ofKind, onlyOne, toTypeAssertion, type Manifest } from './manifests.ts';
import { typeErrors } from './type-errors.ts';

const OVERLAYS = readdirSync(join(ROOT, 'deploy/kubernetes/overlays')).map((name) => `overlays/${name}`);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** The time needed after SHUTDOWN_SECONDS: two seconds to store refreshed tokens, and three for a slow exit. */
const SECONDS_TO_SPARE = 5;

/** Returns whether an Ingress rule matches a path. In the Kubernetes API, a prefix matches whole segments. */
function isFor({ path = '', pathType }: HTTPIngressPath, address: string): boolean {
  return (
    address === path || (pathType === 'Prefix' && address.startsWith(path.endsWith('/') ? path : `${path}/`))
  );
}

describe.each(['base', ...OVERLAYS])('deploy/kubernetes/%s', (folder) => {
  let manifests: Manifest[];
  let pod: PodSpec;
  let container: Container;
  let settings: Readonly<Record<string, string>>;
  beforeAll(async () => {
    manifests = await buildManifests(folder);
    pod = onlyOne(manifests, 'Deployment').spec?.template.spec ?? { containers: [] };
    container = pod.containers[0] ?? { name: 'none' };
    settings = onlyOne(manifests, 'ConfigMap').data ?? {};
  });

  test('uses only fields of the Kubernetes API', async () => {
    expect(await typeErrors(manifests.map(toTypeAssertion))).toEqual([]);
  });

  test('puts every object into the same namespace', () => {
    const namespace = onlyOne(manifests, 'Namespace').metadata?.name;
    const others = manifests.filter(({ kind }) => kind !== 'Namespace');
    expect(new Set(others.map(({ metadata }) => metadata.namespace))).toEqual(new Set([namespace]));
  });

  test('runs at least two processes, even during an update', () => {
    const { replicas, strategy } = onlyOne(manifests, 'Deployment').spec ?? {};
    const [autoscaler] = ofKind(manifests, 'HorizontalPodAutoscaler');
    expect(replicas ?? autoscaler?.spec?.minReplicas ?? 1).toBeGreaterThanOrEqual(2);
    // If the Deployment set `replicas`, applying the manifest would undo the autoscaler's choice.
    expect(replicas === undefined).toBe(autoscaler !== undefined);
    expect(strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
  });

  test('meets the restricted Pod Security Standard with a read-only root file system', () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.containers).toHaveLength(1);
  });

  test('probes /healthz and /readyz with a timeout longer than their maximum response time', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    expect([startupProbe, livenessProbe, readinessProbe]).toMatchObject([
      { httpGet: { path: '/healthz', port: 'http' } },
      { httpGet: { path: '/healthz', port: 'http' } },
      { httpGet: { path: '/readyz', port: 'http' }, timeoutSeconds: 3 },
    ]);
    // If the period were longer, Cloakroom would assume that /readyz is not probed, and would not announce a drain.
    expect(readinessProbe?.periodSeconds).toBeLessThanOrEqual(5);
  });

  test('configures the ports that the pod declares', () => {
    const ports = Object.fromEntries((container.ports ?? []).map((port) => [port.name, port.containerPort]));
    expect(settings).toMatchObject({ HOST: '0.0.0.0', PORT: String(ports['http']) });
    expect(settings['METRICS_PORT']).toBe(String(ports['metrics']));
  });

  test('leaves enough time to drain after SIGTERM', () => {
    const before = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
    const needed = before + Number(settings['SHUTDOWN_SECONDS']) + SECONDS_TO_SPARE;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needed);
  });

  test('passes secrets only in files', () => {
    const [mount] = container.volumeMounts ?? [];
    const volume = pod.volumes?.find(({ name }) => name === mount?.name);
    expect(volume?.secret?.secretName).toBe('cloakroom');
    expect(container.env).toEqual([
      { name: 'CLIENT_SECRET_FILE', value: `${mount?.mountPath}/client-secret` },
      { name: 'REDIS_URL_FILE', value: `${mount?.mountPath}/redis-url` },
      { name: 'SESSION_KEYS_FILE', value: `${mount?.mountPath}/session-keys` },
    ]);
    // If a subPath is set, the kubelet does not update the file when the secret changes.
    expect(mount?.subPath).toBeUndefined();
    expect(ofKind(manifests, 'Secret')).toEqual([]);
    expect(Object.keys(settings).filter((name) => /SECRET|KEYS|REDIS_URL/.test(name))).toEqual([]);
  });

  test('runs the image of this version', () => {
    expect(container.image?.split('/').at(-1)).toBe(`cloakroom:${version}`);
  });

  test('uses only selectors that match its own pods', () => {
    const labels = onlyOne(manifests, 'Deployment').spec?.template.metadata?.labels;
    const policies = ofKind(manifests, 'NetworkPolicy');
    const selectors = [
      onlyOne(manifests, 'Deployment').spec?.selector.matchLabels,
      onlyOne(manifests, 'Service').spec?.selector,
      onlyOne(manifests, 'PodDisruptionBudget').spec?.selector?.matchLabels,
      ...ofKind(manifests, 'PodMonitor').map(({ spec }) => spec.selector.matchLabels),
      ...policies.map(({ spec }) => spec?.podSelector?.matchLabels),
      ...(pod.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    expect(labels).toEqual({ 'app.kubernetes.io/name': 'cloakroom' });
    expect(new Set(selectors.map((selector) => JSON.stringify(selector)))).toEqual(
      new Set([JSON.stringify(labels)]),
    );
  });

  test('refers only to objects and ports that exist', () => {
    const has = (kind: string, name?: string) =>
      manifests.some((manifest) => manifest.kind === kind && manifest.metadata.name === name);
    expect(has('ConfigMap', container.envFrom?.[0]?.configMapRef?.name)).toBe(true);
    expect(has('ServiceAccount', pod.serviceAccountName)).toBe(true);
    const ports = new Set((container.ports ?? []).map(({ name }) => String(name)));
    const service = onlyOne(manifests, 'Service').spec?.ports ?? [];
    expect(service.every(({ targetPort }) => ports.has(String(targetPort)))).toBe(true);
    for (const { spec } of ofKind(manifests, 'PodMonitor')) {
      expect(spec.podMetricsEndpoints?.every(({ port }) => ports.has(String(port)))).toBe(true);
    }
    for (const { spec } of ofKind(manifests, 'HorizontalPodAutoscaler')) {
      expect(has('Deployment', spec?.scaleTargetRef.name)).toBe(true);
    }
    for (const { spec } of ofKind(manifests, 'Ingress')) {
      for (const { backend } of spec?.rules?.[0]?.http?.paths ?? []) {
        expect(has('Service', backend.service?.name)).toBe(true);
        expect(service.map(({ name }) => name)).toContain(backend.service?.port?.name);
      }
    }
  });

  test('exposes every route except /readyz', () => {
    const addresses = ROUTES.filter((name) => name !== 'none');
    for (const { spec } of ofKind(manifests, 'Ingress')) {
      const rules = spec?.rules?.[0]?.http?.paths ?? [];
      const hidden = addresses.filter((address) => !rules.some((rule) => isFor(rule, address)));
      expect(hidden).toEqual(['/readyz']);
      expect(rules.filter((rule) => !addresses.some((address) => isFor(rule, address)))).toEqual([]);
    }
  });

  test('allows only explicitly listed traffic', () => {
    const policies = ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec);
    const closed = policies.filter((spec) => spec?.ingress === undefined && spec?.egress === undefined);
    expect(closed.map((spec) => spec?.policyTypes)).toEqual([['Ingress', 'Egress']]);
    // A rule without peers allows all peers, and a rule without ports allows all ports.
    const rules = [
      ...policies.flatMap((spec) => spec?.ingress ?? []).map(({ from, ports }) => [from, ports]),
      ...policies.flatMap((spec) => spec?.egress ?? []).map(({ to, ports }) => [to, ports]),
    ];
    expect(rules.flat().filter((list = []) => list.length === 0)).toEqual([]);
  });
});

describe.each(OVERLAYS)('deploy/kubernetes/%s', (folder) => {
  test('is a valid Cloakroom configuration', async () => {
    const manifests = await buildManifests(folder);
    const settings = onlyOne(manifests, 'ConfigMap').data ?? {};
    const [container] = onlyOne(manifests, 'Deployment').spec?.template.spec?.containers ?? [];
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
      const ingress = onlyOne(manifests, 'Ingress').spec;
      expect(ingress?.rules?.map(({ host }) => `https://${host}`)).toEqual([config.publicOrigin]);
      expect(ingress?.tls?.[0]?.hosts).toEqual(ingress?.rules?.map(({ host }) => host));
    } finally {
      await rm(secrets, { recursive: true, force: true });
    }
  });
});

describe('deploy/kubernetes/doctor.yaml', () => {
  const text = readFileSync(join(ROOT, 'deploy/kubernetes/doctor.yaml'), 'utf8');
  const manifest = parse(text) as Manifest & Job;
  const pod = manifest.spec?.template.spec;

  test('uses only fields of the Kubernetes API', async () => {
    expect(await typeErrors([toTypeAssertion(manifest)])).toEqual([]);
  });

  test('has the same image, settings, secrets and permissions as the pods', async () => {
    const manifests = await buildManifests('overlays/production');
    const deployed = onlyOne(manifests, 'Deployment').spec?.template.spec;
    const settings = Object.entries(onlyOne(manifests, 'ConfigMap').data ?? {});
    const [theirs, ours] = [deployed?.containers[0], pod?.containers[0]];
    for (const key of ['image', 'securityContext', 'volumeMounts'] as const)
      expect(ours?.[key]).toEqual(theirs?.[key]);
    for (const key of ['securityContext', 'volumes'] as const) expect(pod?.[key]).toEqual(deployed?.[key]);
    const known = [...settings.map(([name, value]) => ({ name, value })), ...(theirs?.env ?? [])];
    expect(known).toEqual(expect.arrayContaining(ours?.env ?? []));
    expect(ours?.env?.length).toBeGreaterThan(7);
  });

  test('has no label that a pod selector matches', () => {
    expect(manifest.spec?.template.metadata?.labels).toBeUndefined();
  });
});

test.each([
  ['an unknown field', { spec: { template: { spec: { containers: [], hostnetwork: true } } } }],
  ['a value of the wrong type', { spec: { replicas: '2' } }],
  ['a missing field', { spec: { template: { spec: {} } } }],
])('the type check finds %s', async (_what, change) => {
  const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, ...change };
  const errors = await typeErrors([toTypeAssertion(manifest)]);
  expect(errors.join('\n')).toMatch(/hostnetwork|is not assignable|is missing/);
});

/** Returns the example REDIS_URL in an overlay, with a user and a password. */
function redisUrlIn(folder: string): string {
  const text = readFileSync(join(ROOT, 'deploy/kubernetes', folder, 'kustomization.yaml'), 'utf8');
  const [, url = ''] = /redis-url: (\S+)/.exec(text) ?? [];
  return url.replace('USER', 'cloakroom').replace('PASSWORD', 'a-password');
}
