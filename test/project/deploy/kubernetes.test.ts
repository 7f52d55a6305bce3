import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Container, PodSpec } from 'kubernetes-types/core/v1.js';
import type { HTTPIngressPath } from 'kubernetes-types/networking/v1.js';
import { ROUTES } from '../../../src/routes.ts';
import { ROOT } from '../../support/constants.ts';
import { buildManifests, ofKind, theOne, toClaim } from './manifests.ts';
import type { Manifest } from './manifests.ts';
import { typeErrors } from './type-errors.ts';

const OVERLAYS = readdirSync(join(ROOT, 'deploy/kubernetes/overlays')).map((name) => `overlays/${name}`);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

/** Past SHUTDOWN_SECONDS refreshed tokens get two seconds to be stored; the rest is for a slow end of the process. */
const SECONDS_TO_SPARE = 5;

/** As the API of Kubernetes defines it: a prefix is one of whole segments. */
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
    pod = theOne(manifests, 'Deployment').spec?.template.spec ?? { containers: [] };
    container = pod.containers[0] ?? { name: 'none' };
    settings = theOne(manifests, 'ConfigMap').data ?? {};
  });

  test('holds nothing but what the API of Kubernetes knows', async () => {
    expect(await typeErrors(manifests.map(toClaim))).toEqual([]);
  });

  test('stands in one namespace, its own', () => {
    const namespace = theOne(manifests, 'Namespace').metadata?.name;
    const others = manifests.filter(({ kind }) => kind !== 'Namespace');
    expect(new Set(others.map(({ metadata }) => metadata.namespace))).toEqual(new Set([namespace]));
  });

  test('runs two processes at least, and replaces them without one less', () => {
    const { replicas, strategy } = theOne(manifests, 'Deployment').spec ?? {};
    const [autoscaler] = ofKind(manifests, 'HorizontalPodAutoscaler');
    expect(replicas ?? autoscaler?.spec?.minReplicas ?? 1).toBeGreaterThanOrEqual(2);
    // An autoscaler's number would be undone each time this is applied.
    expect(replicas === undefined).toBe(autoscaler !== undefined);
    expect(strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
  });

  test('meets the restricted Pod Security Standard, on a root that nobody can write to', () => {
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

  test('asks the paths that tell about life and readiness, with more patience than an answer takes', () => {
    const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
    expect(probes.map((probe) => probe?.httpGet?.path)).toEqual(['/healthz', '/healthz', '/readyz']);
    expect(probes.map((probe) => probe?.httpGet?.port)).toEqual(['http', 'http', 'http']);
    expect(container.readinessProbe).toMatchObject({ timeoutSeconds: 3 });
    // One that is asked less often counts as asked by nobody, and drains without telling.
    expect(container.readinessProbe?.periodSeconds).toBeLessThanOrEqual(5);
  });

  test('listens where the ports of the pod are', () => {
    const ports = Object.fromEntries((container.ports ?? []).map((port) => [port.name, port.containerPort]));
    expect(settings).toMatchObject({ HOST: '0.0.0.0', PORT: String(ports['http']) });
    expect(settings['METRICS_PORT']).toBe(String(ports['metrics']));
  });

  test('leaves time to drain after SIGTERM', () => {
    const before = container.lifecycle?.preStop?.sleep?.seconds ?? 0;
    const needed = before + Number(settings['SHUTDOWN_SECONDS']) + SECONDS_TO_SPARE;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needed);
  });

  test('has every secret in a file, and none anywhere else', () => {
    const [mount] = container.volumeMounts ?? [];
    const volume = pod.volumes?.find(({ name }) => name === mount?.name);
    expect(volume?.secret?.secretName).toBe('cloakroom');
    const files = (container.env ?? []).map(({ name, value }) => [name, value]);
    expect(files).toEqual([
      ['CLIENT_SECRET_FILE', `${mount?.mountPath}/client-secret`],
      ['REDIS_URL_FILE', `${mount?.mountPath}/redis-url`],
      ['SESSION_KEYS_FILE', `${mount?.mountPath}/session-keys`],
    ]);
    // With a path inside, the kubelet would not put a changed one in its place.
    expect(mount?.subPath).toBeUndefined();
    expect(ofKind(manifests, 'Secret')).toEqual([]);
    expect(Object.keys(settings).filter((name) => /SECRET|KEYS|REDIS_URL/.test(name))).toEqual([]);
  });

  test('runs the image of this version', () => {
    expect(container.image).toMatch(
      new RegExp(`^(?:.*/)?cloakroom:${version.replaceAll('.', String.raw`\.`)}$`),
    );
  });

  test('has everything that selects pods select these', () => {
    const labels = theOne(manifests, 'Deployment').spec?.template.metadata?.labels;
    const policies = ofKind(manifests, 'NetworkPolicy');
    const selectors = [
      theOne(manifests, 'Deployment').spec?.selector.matchLabels,
      theOne(manifests, 'Service').spec?.selector,
      theOne(manifests, 'PodDisruptionBudget').spec?.selector?.matchLabels,
      ...ofKind(manifests, 'PodMonitor').map(({ spec }) => spec.selector.matchLabels),
      ...policies.map(({ spec }) => spec?.podSelector?.matchLabels),
      ...(pod.topologySpreadConstraints ?? []).map(({ labelSelector }) => labelSelector?.matchLabels),
    ];
    expect(labels).toEqual({ 'app.kubernetes.io/name': 'cloakroom' });
    expect(new Set(selectors.map((selector) => JSON.stringify(selector)))).toEqual(
      new Set([JSON.stringify(labels)]),
    );
  });

  test('names only what is there', () => {
    const has = (kind: string, name?: string) =>
      manifests.some((manifest) => manifest.kind === kind && manifest.metadata.name === name);
    expect(has('ConfigMap', container.envFrom?.[0]?.configMapRef?.name)).toBe(true);
    expect(has('ServiceAccount', pod.serviceAccountName)).toBe(true);
    const ports = new Set((container.ports ?? []).map(({ name }) => String(name)));
    const service = theOne(manifests, 'Service').spec?.ports ?? [];
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

  test('shows the world all pages and calls, and not whether a pod is ready', () => {
    const addresses = Object.keys(ROUTES).filter((name) => name !== 'none');
    for (const { spec } of ofKind(manifests, 'Ingress')) {
      const rules = spec?.rules?.[0]?.http?.paths ?? [];
      const hidden = addresses.filter((address) => !rules.some((rule) => isFor(rule, address)));
      expect(hidden).toEqual(['/readyz']);
      expect(rules.filter((rule) => !addresses.some((address) => isFor(rule, address)))).toEqual([]);
    }
  });

  test('lets nothing in or out but what it names', () => {
    const policies = ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec);
    const closed = policies.filter((spec) => spec?.ingress === undefined && spec?.egress === undefined);
    expect(closed.map((spec) => spec?.policyTypes)).toEqual([['Ingress', 'Egress']]);
    // A rule that names no peer or no port is open to all.
    for (const spec of policies) {
      for (const { from = [], ports = [] } of spec?.ingress ?? []) {
        expect([from.length, ports.length]).not.toContain(0);
      }
      for (const { to = [], ports = [] } of spec?.egress ?? []) {
        expect([to.length, ports.length]).not.toContain(0);
      }
    }
  });
});

describe('These tests', () => {
  test.each([
    ['a field that is not there', { spec: { template: { spec: { containers: [], hostnetwork: true } } } }],
    ['a value of the wrong type', { spec: { replicas: '2' } }],
    ['a field that is missing', { spec: { template: { spec: {} } } }],
  ])('would find %s', async (_what, change) => {
    const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' }, ...change };
    const errors = await typeErrors([toClaim(manifest)]);
    expect(errors.join('\n')).toMatch(/hostnetwork|is not assignable|is missing/);
  });
});
