import { readFileSync } from 'node:fs';

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');

/** The version of the package, which only a release changes. */
export const packageVersion = (JSON.parse(text) as { version: string }).version;
