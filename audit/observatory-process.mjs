import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import axios from 'axios';

/**
 * Mozilla's HTTP Observatory looks at one address, and prints what it found. It runs in a process of its own, since
 * Node reads NODE_EXTRA_CA_CERTS but once.
 */

// Its list of hosts that browsers know as https is downloaded when it is installed; localhost is on none.
const list = new URL(
  '../conf/hsts-preload.json',
  `file://${createRequire(import.meta.url).resolve('@mdn/mdn-http-observatory')}`,
);
writeFileSync(list, '{}');

// It has no word for a cookie; this is the very axios that it asks with.
const cookie = process.env['AUDIT_COOKIE'];
if (cookie !== undefined) axios.defaults.headers.common['cookie'] = cookie;

const { scan } = await import('@mdn/mdn-http-observatory');
const [, , page = ''] = process.argv;
// It goes where it is led, and would give its grade to the page where one signs in.
const { status } = await axios.get(`https://${page}`, { maxRedirects: 0, validateStatus: () => true });
console.log(JSON.stringify({ ...(await scan(page)), status }));
