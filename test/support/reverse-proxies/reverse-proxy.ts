import { connect } from 'node:tls';
import { once } from 'node:events';
import { Agent, fetch as fetchWith, type RequestInit } from 'undici';
import { createCertificate, type Certificate } from '../certificate.ts';
import { freePort } from '../fleet/free-port.ts';
import { watchConnection, type RawConnection } from '../raw-client.ts';

/** The ports and the certificate of a reverse proxy. Cloakroom needs the origin before the proxy starts. */
export interface ReverseProxyOptions {
  readonly httpsPort: number;
  readonly httpPort: number;
  /** The value of `PUBLIC_URL`, an HTTPS origin on a loopback host. */
  readonly origin: string;
  readonly certificate: Certificate;
}

/** nginx or Caddy, which terminates TLS in front of Cloakroom with a configuration from deploy/. */
export interface ReverseProxy extends AsyncDisposable {
  /** Resolves with the proxy's access and error logs so far. */
  logged(): Promise<string>;
  /** Takes a process out of rotation before its SIGTERM, as docs/deploy.md describes. Null puts the process back into rotation. */
  takeOutOfRotation(host: string | null): Promise<void>;
  /** Replaces and reloads the proxy's certificate, as docs/secrets.md describes. */
  changeCertificate(certificate: Certificate): Promise<void>;
}

/** Reserves ports on the loopback interface and creates a certificate. */
export async function createReverseProxyOptions(): Promise<ReverseProxyOptions> {
  const [httpsPort, httpPort] = [await freePort(), await freePort()];
  return {
    httpsPort,
    httpPort,
    origin: `https://localhost:${httpsPort}`,
    certificate: createCertificate('localhost'),
  };
}

/** Creates a `fetch` that trusts only this certificate. */
export function createFetch({ certificate }: ReverseProxyOptions): typeof fetch {
  const dispatcher = new Agent({ connect: { ca: certificate.cert }, bodyTimeout: 10_000 });
  const send = async (url: URL | string, init?: RequestInit) => fetchWith(url, { ...init, dispatcher });
  return send as unknown as typeof fetch;
}

/** Opens a TLS connection on which a test writes raw requests. */
export async function openTls({ httpsPort, certificate }: ReverseProxyOptions): Promise<RawConnection> {
  const socket = connect({
    port: httpsPort,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: certificate.cert,
    ALPNProtocols: ['http/1.1'],
  });
  const end = watchConnection(socket);
  await once(socket, 'secureConnect');
  return end;
}

/** Returns whether the reverse proxy accepts TLS connections, which means that it has loaded its configuration. */
export async function isUp(options: ReverseProxyOptions): Promise<boolean> {
  try {
    const end = await openTls(options);
    end.socket.destroy();
    return true;
  } catch {
    return false;
  }
}
