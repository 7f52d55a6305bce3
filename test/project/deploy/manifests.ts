import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import type { ConfigMap, Namespace, Secret, Service, ServiceAccount } from 'kubernetes-types/core/v1.js';
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../support/constants.ts';
import type { PodMonitor } from './pod-monitor.ts';
import type { TypeAssertion } from './type-errors.ts';

const FOLDER = join(ROOT, 'deploy/kubernetes');

/** The fields that every Kubernetes object has. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface Kinds {
  readonly ConfigMap: ConfigMap;
  readonly Deployment: Deployment;
  readonly HorizontalPodAutoscaler: HorizontalPodAutoscaler;
  readonly Ingress: Ingress;
  readonly Namespace: Namespace;
  readonly NetworkPolicy: NetworkPolicy;
  readonly PodDisruptionBudget: PodDisruptionBudget;
  readonly PodMonitor: PodMonitor;
  readonly Secret: Secret;
  readonly Service: Service;
  readonly ServiceAccount: ServiceAccount;
}

/** Builds the objects that `kubectl apply -k` would apply. `folder` is under deploy/kubernetes. */
export async function buildManifests(folder: string): Promise<Manifest[]> {
  // kubectl reports deprecated fields only on stderr.
  const { stdout, stderr } = await promisify(execFile)('kubectl', ['kustomize', join(FOLDER, folder)]);
  if (stderr !== '') throw new Error(stderr);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

const MODULES: Readonly<Record<string, string>> = {
  v1: 'kubernetes-types/core/v1.js',
  'apps/v1': 'kubernetes-types/apps/v1.js',
  'autoscaling/v2': 'kubernetes-types/autoscaling/v2.js',
  'batch/v1': 'kubernetes-types/batch/v1.js',
  'networking.k8s.io/v1': 'kubernetes-types/networking/v1.js',
  'policy/v1': 'kubernetes-types/policy/v1.js',
  'monitoring.coreos.com/v1': '../../test/project/deploy/pod-monitor.ts',
};

/** Returns the assertion that an object has the Kubernetes API type for its `apiVersion` and `kind`. */
export function toTypeAssertion(manifest: Manifest): TypeAssertion {
  const from = MODULES[manifest.apiVersion];
  if (from === undefined) throw new Error(`${manifest.apiVersion} has no types`);
  return { value: manifest, type: manifest.kind, from };
}

/** Returns all objects of a kind. */
export function ofKind<K extends keyof Kinds>(manifests: readonly Manifest[], kind: K): Kinds[K][] {
  return manifests.filter((manifest) => manifest.kind === kind) as unknown[] as Kinds[K][];
}

/** Returns the object of a kind. Throws unless exactly one object has that kind. */
export function onlyOne<K extends keyof Kinds>(manifests: readonly Manifest[], kind: K): Kinds[K] {
  const [one, ...others] = ofKind(manifests, kind);
  if (one === undefined || others.length > 0) throw new Error(`there is not exactly one ${kind}`);
  return one;
}
