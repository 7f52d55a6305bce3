/** Something can't be reached, in words for an operator; never with what a server or a library said. */
export class Failure extends Error {
  override readonly name = 'Failure';
  /** Goes on after “it”: “can't be found …”. */
  readonly what: string;
  readonly remedy: string;

  constructor(what: string, remedy: string) {
    super(what);
    this.what = what;
    this.remedy = remedy;
  }
}

const CHECK_ADDRESS =
  'Check host and port, that it runs, and that nothing in between refuses the connection.';
const CHECK_WAY = 'Check host and port, and the firewalls and network policies in between.';
const TRUST_IT =
  'Name the authority in NODE_EXTRA_CA_CERTS (a PEM file), or have it sign with one that everybody knows.';
const NOT_TRUSTED = 'shows a certificate of an authority that is not known here';

const WORDS: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ENOTFOUND: [
    'can’t be found: no DNS entry for its name',
    'Check the name, and the DNS server of this machine.',
  ],
  EAI_AGAIN: [
    'can’t be looked up: no DNS server answers for its name',
    'Check the DNS server of this machine (/etc/resolv.conf), and the way to it.',
  ],
  ECONNREFUSED: ['refuses connections: nothing listens there', CHECK_ADDRESS],
  ECONNRESET: ['cuts the connection off', 'Check that the port is the right one, and whether it speaks TLS.'],
  UND_ERR_SOCKET: [
    'cuts the connection off',
    'Check that the port is the right one, and whether it speaks TLS.',
  ],
  EPIPE: ['cuts the connection off', 'Check that the port is the right one, and whether it speaks TLS.'],
  EHOSTUNREACH: ['can’t be reached: there is no way to its network', CHECK_WAY],
  ENETUNREACH: ['can’t be reached: there is no way to its network', CHECK_WAY],
  ETIMEDOUT: ['does not answer: what is sent to it gets lost', CHECK_WAY],
  UND_ERR_CONNECT_TIMEOUT: ['does not answer: what is sent to it gets lost', CHECK_WAY],
  ENOENT: ['can’t be found: there is no such socket', 'Check the path, and that Redis runs.'],
  EACCES: ['may not be opened by this user', 'Check who may read and write the socket.'],
  CERT_HAS_EXPIRED: [
    'shows a certificate that has expired',
    'Have it renewed; if it looks right, check this clock.',
  ],
  CERT_NOT_YET_VALID: ['shows a certificate that is not valid yet', 'Check the clock of this machine.'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'shows a certificate of another name',
    'Use the name that the certificate is for.',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['shows a certificate that it signed itself', TRUST_IT],
  SELF_SIGNED_CERT_IN_CHAIN: [NOT_TRUSTED, TRUST_IT],
  UNABLE_TO_GET_ISSUER_CERT: [NOT_TRUSTED, TRUST_IT],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [NOT_TRUSTED, TRUST_IT],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: [NOT_TRUSTED, TRUST_IT],
  EPROTO: ['does not speak TLS there', 'Check the port, and whether it is meant to be without TLS.'],
  ERR_SSL_WRONG_VERSION_NUMBER: [
    'does not speak TLS there',
    'Check the port, and whether it is meant to be without TLS.',
  ],
};

/** Of an error: whatever it is made of. */
interface Told {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** In words, by the code of the error or of what lies behind it; undefined where there is no code that is known. */
export function failureOf(error: unknown): Failure | undefined {
  for (let each = error as Told | undefined | null; each; each = each.cause as Told | undefined) {
    const code = typeof each.code === 'string' ? each.code : '';
    const words = WORDS[code] ?? (code.startsWith('ERR_SSL_') ? WORDS['EPROTO'] : undefined);
    if (words !== undefined) return new Failure(...words);
    if (each.message === 'bad port') {
      return new Failure(
        'stands at a port that no HTTP is ever sent to',
        'Use another port (Fetch standard, “bad port”).',
      );
    }
    if (code.startsWith('HPE_')) {
      return new Failure('answers, but not in HTTP', 'Check the port, and whether it speaks TLS there.');
    }
    if (each.name === 'TimeoutError') {
      return new Failure(
        'leaves a question without an answer',
        'Check how it is; a firewall may also be in between.',
      );
    }
  }
  return undefined;
}
