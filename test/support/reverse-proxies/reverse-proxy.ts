import { connect } from 'node:tls';
import { once } from 'node:events';
import { Agent, fetch as fetchWith, type RequestInit } from 'undici';
import { createCertificate, type Certificate } from '../certificate.ts';
import { freePort } from '../fleet/free-port.ts';
import { watch, type RawEnd } from '../raw-client.ts';

/** Where a front listens, and what it shows there; known before it starts, since Cloakroom must know it. */
export interface Place {
  readonly httpsPort: number;
  readonly httpPort: number;
  /** `PUBLIC_URL`: https on a loopback host. */
  readonly origin: string;
  readonly certificate: Certificate;
}

/** What ends TLS before Cloakroom: nginx or Caddy, as deploy/ sets them up, in a process of its own. */
export interface ReverseProxy extends AsyncDisposable {
  /** All that it has logged so far: of calls, and of what went wrong. */
  logged(): Promise<string>;
  /** Does what docs/operations.md says is to be done before a process gets its SIGTERM; null puts it in again. */
  leaveOut(host: string | null): Promise<void>;
  /** Puts another certificate in the place of its own, and does what docs/operations.md says is to be done then. */
  changeCertificate(certificate: Certificate): Promise<void>;
}

/** A place of its own on the loopback interface. */
export async function createPlace(): Promise<Place> {
  const [httpsPort, httpPort] = [await freePort(), await freePort()];
  return {
    httpsPort,
    httpPort,
    origin: `https://localhost:${httpsPort}`,
    certificate: createCertificate('localhost'),
  };
}

/** A `fetch` that trusts this place's certificate, and no other. */
export function createFetch({ certificate }: Place): typeof fetch {
  const dispatcher = new Agent({ connect: { ca: certificate.cert }, bodyTimeout: 10_000 });
  const send = async (url: URL | string, init?: RequestInit) => fetchWith(url, { ...init, dispatcher });
  return send as unknown as typeof fetch;
}

/** A connection over TLS on which a test writes requests byte by byte. */
export async function openTls({ httpsPort, certificate }: Place): Promise<RawEnd> {
  const socket = connect({
    port: httpsPort,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: certificate.cert,
    ALPNProtocols: ['http/1.1'],
  });
  const end = watch(socket);
  await once(socket, 'secureConnect');
  return end;
}

/** Whether a place responses over TLS: what started it has loaded its configuration. */
export async function isUp(place: Place): Promise<boolean> {
  try {
    const end = await openTls(place);
    end.socket.destroy();
    return true;
  } catch {
    return false;
  }
}
