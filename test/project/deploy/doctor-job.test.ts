import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Job } from 'kubernetes-types/batch/v1.js';
import { parse } from 'yaml';
import { ROOT } from '../../support/constants.ts';
import { buildManifests, theOne, toClaim } from './manifests.ts';
import type { Manifest } from './manifests.ts';
import { typeErrors } from './type-errors.ts';

const FILE = join(ROOT, 'deploy/kubernetes/doctor.yaml');
const manifest = parse(readFileSync(FILE, 'utf8')) as Manifest & Job;
const pod = manifest.spec?.template.spec;

test('the doctor’s Job holds nothing but what the API of Kubernetes knows', async () => {
  expect(await typeErrors([toClaim(manifest)])).toEqual([]);
});

test('the doctor in a cluster is what the pods will be: their image, settings and secrets, and no more rights', async () => {
  const manifests = await buildManifests('overlays/production');
  const deployed = theOne(manifests, 'Deployment').spec?.template.spec;
  const settings = Object.entries(theOne(manifests, 'ConfigMap').data ?? {});
  const [theirs, ours] = [deployed?.containers[0], pod?.containers[0]];
  expect([ours?.image, ours?.securityContext, ours?.volumeMounts]).toEqual([
    theirs?.image,
    theirs?.securityContext,
    theirs?.volumeMounts,
  ]);
  expect([pod?.securityContext, pod?.volumes]).toEqual([deployed?.securityContext, deployed?.volumes]);
  const known = [...settings.map(([name, value]) => ({ name, value })), ...(theirs?.env ?? [])];
  expect(known).toEqual(expect.arrayContaining(ours?.env ?? []));
  expect(ours?.env?.length).toBeGreaterThan(7);
});

test('nothing that selects pods selects the doctor’s', () => {
  expect(manifest.spec?.template.metadata?.labels).toBeUndefined();
});
