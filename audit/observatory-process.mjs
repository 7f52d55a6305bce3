import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import axios from 'axios';

/**
 * Scans one address with Mozilla's HTTP Observatory and prints the result. It runs in its own process, because Node reads
 * NODE_EXTRA_CA_CERTS only when it starts.
 */

// An install script, which does not run here, would download the HSTS preload list. The list does not contain localhost anyway.
const list = new URL(
  '../conf/hsts-preload.json',
  `file://${createRequire(import.meta.url).resolve('@mdn/mdn-http-observatory')}`,
);
writeFileSync(list, '{}');

// The Observatory has no option for a cookie, so set the cookie in axios, which it uses.
const cookie = process.env['AUDIT_COOKIE'];
if (cookie !== undefined) axios.defaults.headers.common['cookie'] = cookie;

const { scan } = await import('@mdn/mdn-http-observatory');
const [, , page = ''] = process.argv;
// The Observatory follows redirects and may grade another page. The status shows whether it did.
const { status } = await axios.get(`https://${page}`, { maxRedirects: 0, validateStatus: () => true });
console.log(JSON.stringify({ ...(await scan(page)), status }));
