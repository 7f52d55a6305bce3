import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The configuration that operators use. */
const CONFIG = new URL('../../../deploy/nginx.conf', import.meta.url);

/**
 * Writes an adapted deploy/nginx.conf, its certificate and a main nginx.conf into a folder. As on Debian, logging and compression
 * are on. Resolves with the command that starts nginx.
 * @param {string} folder
 * @param {{ httpsPort: number, httpPort: number, origin: string, certificate: { key: string, cert: string } }} options
 * @param {readonly string[]} hosts `127.0.0.1:port` of each process
 * @returns {Promise<[string, ...string[]]>}
 */
export async function writeNginxConf(folder, options, hosts) {
  const at = (/** @type {string} */ name) => join(folder, name);
  await writeFile(at('cloakroom.conf'), adapt(await readFile(CONFIG, 'utf8'), folder, options, hosts));
  await writeFile(at('cert.pem'), options.certificate.cert);
  await writeFile(at('key.pem'), options.certificate.key, { mode: 0o600 });
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  await writeFile(
    at('nginx.conf'),
    `
      ${process.getuid?.() === 0 ? 'user root;' : ''} # root owns the folder
      daemon off;
      worker_processes 1;
      pid ${at('nginx.pid')};
      error_log ${at('error.log')} warn;
      events { worker_connections 768; }
      http {
        ${temporary.map((name) => `${name}_temp_path ${at(name)};`).join(' ')}
        access_log ${at('all.log')};
        gzip on;
        include ${at('cloakroom.conf')};
      }
    `,
  );
  return ['nginx', '-p', folder, '-c', at('nginx.conf'), '-e', at('error.log')];
}

/**
 * Makes the changes that the comments in deploy/nginx.conf require, and replaces the ports and log paths.
 * @param {string} config
 * @param {string} folder
 * @param {{ httpsPort: number, httpPort: number, origin: string }} options
 * @param {readonly string[]} hosts
 */
function adapt(config, folder, { httpsPort, httpPort, origin }, hosts) {
  const servers = hosts.map((host) => `  server ${host} fail_timeout=2s;`).join('\n');
  const changes = /** @type {const} */ ([
    ['  server 127.0.0.1:3000 fail_timeout=2s;', servers],
    ['https://cloakroom.example', origin],
    ['server_name cloakroom.example;', 'server_name localhost;'],
    ['/etc/ssl/cloakroom/fullchain.pem', join(folder, 'cert.pem')],
    ['/etc/ssl/cloakroom/privkey.pem', join(folder, 'key.pem')],
    ['/var/log/nginx/', `${folder}/`],
    ['listen 80;', `listen 127.0.0.1:${httpPort};`],
    ['listen 443 ssl', `listen 127.0.0.1:${httpsPort} ssl`],
    ['  listen [::]:80;\n', ''],
    ['  listen [::]:443 ssl http2;\n', ''],
  ]);
  return changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`deploy/nginx.conf has no ${from}`);
    return text.replaceAll(from, to);
  }, config);
}
