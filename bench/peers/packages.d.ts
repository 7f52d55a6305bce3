// Declares types for packages that only `npm run bench` installs. tsc can then check the peers without those packages.

declare module 'express-openid-connect' {
  import type { RequestHandler } from 'express';
  export interface RequestContext {
    readonly accessToken?: { readonly access_token: string };
    isAuthenticated(): boolean;
  }
  export function auth(options: object): RequestHandler;
}

declare module 'http-proxy-middleware' {
  import type { ClientRequest, IncomingMessage } from 'node:http';
  import type { RequestHandler } from 'express';
  export function createProxyMiddleware(options: {
    readonly target: string;
    readonly changeOrigin: boolean;
    readonly agent: object;
    readonly on: { readonly proxyReq: (upstreamRequest: ClientRequest, req: IncomingMessage) => void };
  }): RequestHandler;
}

declare module 'redis' {
  interface Client {
    connect(): Promise<this>;
  }
  export function createClient(options: { readonly url: string }): Client;
}

declare module 'oidc-provider' {
  export class Provider {
    constructor(issuer: string, configuration: object);
    on(event: 'access_token.saved', listener: (token: { accountId: string; jti: string }) => void): void;
    listen(port: number, host: string, listening: () => void): void;
  }
}

declare module 'fastify' {
  export interface FastifyRequest {
    readonly query: unknown;
    readonly session: { grant?: { readonly accessToken: string } };
  }
  export interface FastifyReply extends PromiseLike<undefined> {
    code(status: number): this;
    send(): this;
  }
  interface FastifyInstance {
    register(plugin: object, options?: object): Promise<void>;
    get(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): void;
    listen(where: { readonly host: string; readonly port: number }): Promise<string>;
    addresses(): readonly { readonly port: number }[];
  }
  export function fastify(): FastifyInstance;
}

declare module '@fastify/cookie' {
  export const fastifyCookie: object;
}

declare module '@fastify/http-proxy' {
  export const fastifyHttpProxy: object;
}

declare module '@fastify/session' {
  export const fastifySession: object;
}

declare module 'lighthouse' {
  interface Audit {
    readonly title: string;
    readonly score: number | null;
    readonly displayValue?: string;
  }
  interface Category {
    readonly score: number | null;
    readonly auditRefs: readonly { readonly id: string }[];
  }
  interface Report {
    readonly finalDisplayedUrl: string;
    readonly runtimeError?: { readonly message: string };
    readonly categories: Readonly<Record<string, Category>>;
    readonly audits: Readonly<Record<string, Audit>>;
  }
  export const desktopConfig: object;
  export default function lighthouse(
    address: string,
    flags: object,
    config?: object,
  ): Promise<{ readonly lhr: Report } | undefined>;
}
