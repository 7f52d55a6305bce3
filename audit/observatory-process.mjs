import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import axios from 'axios';

/**
 * Scans one address with Mozilla's HTTP Observatory and prints the result. The scan runs in its own process, because Node reads
 * NODE_EXTRA_CA_CERTS only at startup.
 */

// npm skips the install script that would download the HSTS preload list. Use an empty list, because localhost is not preloaded.
const list = new URL(
  '../conf/hsts-preload.json',
  `file://${createRequire(import.meta.url).resolve('@mdn/mdn-http-observatory')}`,
);
writeFileSync(list, '{}');

// The Observatory sends requests with axios and has no cookie option, so set the cookie in axios.
const cookie = process.env['AUDIT_COOKIE'];
if (cookie !== undefined) axios.defaults.headers.common['cookie'] = cookie;

const { scan } = await import('@mdn/mdn-http-observatory');
const [, , page = ''] = process.argv;
// The Observatory follows redirects and may grade a different page. The status shows whether the page redirects.
const { status } = await axios.get(`https://${page}`, { maxRedirects: 0, validateStatus: () => true });
console.log(JSON.stringify({ ...(await scan(page)), status }));
