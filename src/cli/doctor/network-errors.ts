import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { promisify } from 'node:util';

/** A server can't be used, in words for an operator: never the words of a server or a library, which may quote a secret. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Continues a sentence whose subject is the server: “can’t be found …”. */
  readonly what: string;
  readonly remedy: string;

  constructor(what: string, remedy: string) {
    super(what);
    this.what = what;
    this.remedy = remedy;
  }
}

const CLOSES = [
  'closes the connection',
  'Check that the port is the right one, and whether it expects TLS.',
] as const;
const NO_ROUTE = [
  'can’t be reached: packets to it get no response',
  'Check host and port, and the firewalls and network policies in between.',
] as const;
const UNTRUSTED = [
  'has a certificate that is not trusted here',
  'Name the issuing authority in NODE_EXTRA_CA_CERTS (a PEM file), or use a certificate of a public authority.',
] as const;
const NO_TLS = ['does not speak TLS there', 'Check the port, and whether it is meant to use TLS.'] as const;

/** By error code of Node or undici. */
const WORDS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ENOTFOUND: [
    'can’t be found: DNS has no entry for its name',
    'Check the name, and the DNS server of this machine.',
  ],
  EAI_AGAIN: [
    'can’t be looked up: no DNS server responds for its name',
    'Check the DNS server of this machine (/etc/resolv.conf), and the network to it.',
  ],
  ECONNREFUSED: [
    'refuses connections: nothing listens there',
    'Check host and port, and that it is running.',
  ],
  ENOENT: ['can’t be found: there is no such socket', 'Check the path, and that Redis is running.'],
  EACCES: ['may not be opened by this user', 'Check the permissions of the socket.'],
  ECONNRESET: CLOSES,
  EPIPE: CLOSES,
  UND_ERR_SOCKET: CLOSES,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  ETIMEDOUT: NO_ROUTE,
  UND_ERR_CONNECT_TIMEOUT: NO_ROUTE,
  CERT_HAS_EXPIRED: [
    'has a certificate that has expired',
    'Have it renewed. If it is still valid, check the clock of this machine.',
  ],
  CERT_NOT_YET_VALID: ['has a certificate that is not valid yet', 'Check the clock of this machine.'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'has a certificate for another name',
    'Use the name that the certificate is for.',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  EPROTO: NO_TLS,
};

/** Translates an error by its code or name; undefined where they say nothing. */
export function toConnectionError(error: unknown): ConnectionError | undefined {
  const { code, name } = error as { readonly code?: unknown; readonly name?: unknown };
  if (name === 'HTTPParserError')
    return new ConnectionError('responds, but not with HTTP', 'Check the port, and whether it expects TLS.');
  if (name === 'TimeoutError') {
    return new ConnectionError(
      'accepts the request and does not respond',
      'Check its health, and the firewalls in between.',
    );
  }
  if (typeof code !== 'string') return undefined;
  const words = WORDS[code.startsWith('ERR_SSL_') ? 'EPROTO' : code];
  return words && new ConnectionError(...words);
}

/** Less than the time limit of all checks, and enough for a process to start on a busy machine. */
const LOOK_UP_TIMEOUT_MS = 4_000;
const LOOK_UP =
  'require("node:dns").lookup(process.argv[1], (error) => process.stdout.write(error?.code ?? ""))';

/**
 * Looks up a host name or address, for 4 s at most. Throws a ConnectionError where DNS does not know the name or does not
 * respond.
 *
 * It starts a process for that. Node looks up two names at a time, can't cancel a look-up, and does not exit before it is over.
 * So a name without a response would hold up the other checks and the end of the doctor.
 */
export async function requireHostName(host: string): Promise<void> {
  if (host === 'localhost' || isIP(host.replaceAll(/[[\]]/g, '')) !== 0) return;
  const args = [...process.execArgv, '--input-type=commonjs', '--eval', LOOK_UP, '--', host];
  const options = { timeout: LOOK_UP_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
  let code = '';
  try {
    code = (await promisify(execFile)(process.execPath, args, options)).stdout;
  } catch (error) {
    // Where no process can be started, the connection will show what is wrong.
    if ((error as { killed?: boolean }).killed === true) code = 'EAI_AGAIN';
  }
  const failure = toConnectionError({ code });
  if (failure !== undefined) throw failure;
}
