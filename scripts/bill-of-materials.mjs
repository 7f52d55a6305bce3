import { createHash } from 'node:crypto';
import { dependenciesOf, nameOf, productionPaths } from './lock-file.mjs';

/** @typedef {import('./lock-file.mjs').Entry} Entry */

/**
 * Returns the software bill of materials for production in CycloneDX 1.6 format. The bill lists the production packages in a lock file,
 * with licences, hashes and dependencies. The bill contains no time or machine name, so a lock file always produces the same bill
 * (docs/decisions/0016).
 * @param {Readonly<Record<string, Entry>>} packages from a lock file
 */
export function toBillOfMaterials(packages) {
  const project = packages[''] ?? {};
  const paths = productionPaths(packages);
  const components = paths.map((path) => toComponent(packages, path));
  const self = { type: 'application', ...identify(project.name ?? '', project), ...licensedAs(project) };
  const bill = {
    metadata: { component: self },
    components: [...new Map(components.map((component) => [component['bom-ref'], component])).values()],
    dependencies: mergeByRef(['', ...paths].map((path) => toDependency(packages, path))),
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bill))}`,
    version: 1,
    ...bill,
  };
}

/**
 * @param {Readonly<Record<string, Entry>>} packages
 * @param {string} path
 */
function toComponent(packages, path) {
  const entry = packages[path] ?? {};
  const hash = /^sha512-(.+)$/.exec(entry.integrity ?? '')?.[1];
  return {
    type: 'library',
    ...identify(nameOf(path), entry),
    scope: entry.optional === true ? 'optional' : 'required',
    ...(hash !== undefined && {
      hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    }),
    ...licensedAs(entry),
  };
}

/**
 * @param {Readonly<Record<string, Entry>>} packages
 * @param {string} path
 */
function toDependency(packages, path) {
  const entry = packages[path] ?? {};
  const dependsOn = dependenciesOf(packages, path).map(
    (need) => identify(nameOf(need), packages[need] ?? {})['bom-ref'],
  );
  const name = path === '' ? (entry.name ?? '') : nameOf(path);
  return { ref: identify(name, entry)['bom-ref'], dependsOn };
}

/**
 * Merges the entries for a package that is installed in several places.
 * @param {readonly { ref: string, dependsOn: string[] }[]} dependencies
 */
function mergeByRef(dependencies) {
  /** @type {Map<string, Set<string>>} */
  const needs = new Map();
  for (const { ref, dependsOn } of dependencies) {
    needs.set(ref, new Set([...(needs.get(ref) ?? []), ...dependsOn]));
  }
  return [...needs].map(([ref, dependsOn]) => ({ ref, dependsOn: [...dependsOn].toSorted() }));
}

/**
 * Identifies a package by its package URL.
 * @param {string} name
 * @param {Entry} entry
 */
function identify(name, { version = '' }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { 'bom-ref': purl, name, version, purl };
}

/**
 * Returns the licence as an SPDX id or expression.
 * @param {Entry} entry
 */
function licensedAs({ license }) {
  if (license === undefined) return {};
  return {
    licenses: [/ (?:AND|OR|WITH) /.test(license) ? { expression: license } : { license: { id: license } }],
  };
}

/**
 * Derives a UUID from content (RFC 9562, version 8).
 * @param {string} content
 */
function uuidOf(content) {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
