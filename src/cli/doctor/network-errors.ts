import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import { problem, type Result } from './finding.ts';

/**
 * Explanations of errors, matched against their code (or name) and message. The first match applies. The server is the
 * grammatical subject of each explanation. The doctor never prints messages from servers or libraries, because they may quote a secret.
 */
const REASONS: readonly (readonly [pattern: RegExp, what: string, remedy: string])[] = [
  [/^ENOTFOUND/, 'can’t be found because its name is not in DNS', 'Check the name and the DNS server.'],
  [/^EAI_AGAIN/, 'can’t be looked up because no DNS server responds', 'Check /etc/resolv.conf.'],
  [/^ECONNREFUSED/, 'refuses connections', 'Check the host, the port, and whether the server is running.'],
  [/^E(?:HOST|NET)UNREACH/, 'can’t be reached over the network', 'Check the host, firewalls and routes.'],
  [
    /^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)/,
    'did not accept the connection in time',
    'Check the host, port, firewalls and network policies. With rediss://, check that Redis uses TLS on this port.',
  ],
  [/^ENOENT/, 'does not exist', 'Check the path, and whether Redis is running.'],
  [/^EACCES/, 'is not accessible to this user', 'Check the permissions of the socket.'],
  [
    /^CERT_(?:HAS_|NOT_)/,
    'has a certificate that has expired or is not valid yet',
    'Check the certificate and the clock.',
  ],
  [/^ERR_TLS_CERT_ALT/, 'has a certificate for another name', 'Use a name that the certificate covers.'],
  [
    /^(?:DEPTH_ZERO_|SELF_|UNABLE_TO_)/,
    'has a certificate that is not trusted here',
    'Set NODE_EXTRA_CA_CERTS to a PEM file with the certificate of the issuing authority.',
  ],
  [/^(?:EPROTO|ERR_SSL_)/, 'does not use TLS on this port', 'Check the port and the URL scheme.'],
  [/^HTTPParserError|^HPE_/, 'responds, but not with HTTP', 'Check the port and the URL scheme.'],
  [
    /^TimeoutError|timed out/,
    'accepts the connection but does not respond',
    'Check whether the server has hung or expects TLS.',
  ],
  [
    /WRONGPASS|invalid password/,
    'refuses the user name or password',
    'Check the user name and password in REDIS_URL. Percent-encode any special characters.',
  ],
  [
    /NOAUTH/,
    'requires a password',
    'Add the password to REDIS_URL (redis://:password@host). Sentinels get the password only if REDIS_URL names no user.',
  ],
  [
    /LOADING|DENIED|max number of clients/,
    'currently refuses clients',
    'Check the Redis log. Redis may be loading data, have reached its client limit, or be in protected mode.',
  ],
  [
    /NOPERM.*select/,
    'does not allow the user in REDIS_URL to select the database',
    'Grant permission (ACL SETUSER <user> +select), or remove the database number from REDIS_URL.',
  ],
  [/DB index/, 'does not have the database in REDIS_URL', 'Correct or remove the database number.'],
  [/RESP/, 'responds, but is not Redis', 'Check the port, and whether the server expects TLS (rediss://).'],
  [/^/, 'closes the connection', 'Check the port, the server’s log, and whether the server expects TLS.'],
];

/** Resolves with the result of `use`, or with a problem if the server can't be used. Rejects only if Cloakroom itself has a bug. */
export async function resultOrProblem<T>(server: string, use: () => Promise<T>): Promise<T | Result> {
  try {
    return await use();
  } catch (error) {
    const { code, name = '', message = '' } = error as { code?: unknown; name?: string; message?: string };
    if (/^(?:Type|Range|Reference|Syntax)Error$/.test(name)) throw error;
    const text = `${typeof code === 'string' ? code : name} ${message}`;
    const [, what, remedy] = REASONS.find(([pattern]) => pattern.test(text)) ?? [];
    return problem(`${server} ${what}.`, remedy ?? '');
  }
}

/** Shorter than the time limit for all checks, but long enough for a process to start on a busy machine. */
const LOOK_UP_TIMEOUT_MS = 4_000;
const LOOK_UP =
  'require("node:dns").lookup(process.argv[1], (error) => process.stdout.write(error?.code ?? ""))';

/**
 * Looks up a host name or address within 4 s. Rejects if DNS doesn't know the name or doesn't respond.
 *
 * The lookup runs in a separate process. Node runs only a few lookups at a time, can't cancel a lookup, and can't exit while one
 * is running. A hung lookup would therefore delay the other checks and the exit.
 */
export async function lookUp(host: string): Promise<void> {
  if (host === 'localhost' || isIP(host.replaceAll(/[[\]]/g, '')) !== 0) return;
  const args = [...process.execArgv, '--input-type=commonjs', '--eval', LOOK_UP, '--', host];
  const options = { timeout: LOOK_UP_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  let code = '';
  try {
    code = (await promisify(execFile)(process.execPath, args, options)).stdout;
  } catch (error) {
    // If no process can be started, the connection attempt reveals any problem.
    if ((error as { killed?: boolean }).killed === true) code = 'EAI_AGAIN';
  }
  if (code !== '') throw Object.assign(new Error('lookup failed'), { code });
}
