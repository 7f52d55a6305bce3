import { CookieJar } from 'tough-cookie';
import { recordQueryValues, recordSetCookie } from './log-audit.ts';

/** A form on a page. */
interface Form {
  readonly action: string;
  readonly method: string;
  readonly fields: ReadonlyMap<string, string>;
  /** Maps each submit button's text to the field that the button adds, or to null if the button adds no field. */
  readonly buttons: ReadonlyMap<string, readonly [name: string, value: string] | null>;
}

/** A response, including its body. */
export interface Page {
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser without JavaScript that keeps cookies, follows redirects and fills in forms. */
export class Browser {
  readonly jar = new CookieJar();
  readonly #fetch: typeof fetch;

  /** `send` replaces `fetch`, for example so that a test can trust its own certificate. */
  constructor(send: typeof fetch = fetch) {
    this.#fetch = send;
  }

  /** Sends one request without following redirects. */
  async fetch(url: string | URL, init: RequestInit = {}): Promise<Page> {
    const at = new URL(url);
    const headers = new Headers(init.headers);
    const cookies = await this.jar.getCookieString(at.href);
    if (cookies !== '' && !headers.has('cookie')) headers.set('cookie', cookies);
    const response = await this.#fetch(at, { ...init, headers, redirect: 'manual' });
    recordQueryValues(response.headers.get('location') ?? '');
    for (const cookie of response.headers.getSetCookie()) {
      recordSetCookie(cookie);
      await this.jar.setCookie(cookie, at.href);
    }
    return { url: at, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Opens a URL and follows redirects. */
  async open(url: string | URL, init: RequestInit = {}): Promise<Page> {
    let page = await this.fetch(url, init);
    for (let hops = 0; hops < 10; hops += 1) {
      const location = page.headers.get('location');
      if (page.status < 300 || page.status > 399 || location === null) return page;
      page = await this.fetch(new URL(location, page.url));
    }
    throw new Error(`too many redirects at ${page.url.href}`);
  }

  /** Fills in and submits the form that contains this button, without following redirects. */
  async press(page: Page, button: string, filled: Record<string, string> = {}): Promise<Page> {
    const form = formsOf(page.text).find(({ buttons }) => buttons.has(button));
    if (form === undefined) throw new Error(`no button "${button}" at ${page.url.href}:\n${page.text}`);
    const body = new URLSearchParams([...form.fields]);
    for (const [name, value] of Object.entries(filled)) body.set(name, value);
    const field = form.buttons.get(button);
    if (field) body.append(...field);
    const to = new URL(form.action || page.url, page.url);
    const headers = { origin: page.url.origin, 'sec-fetch-site': 'same-origin' };
    return this.fetch(to, { method: form.method, body, headers });
  }

  /** Follows redirects, if any, and resolves with the final page. */
  async follow(page: Page): Promise<Page> {
    const location = page.headers.get('location');
    return location === null ? page : this.open(new URL(location, page.url));
  }

  /** Returns the value of a cookie that would be sent to this URL. */
  async cookie(url: string, name: string): Promise<string | undefined> {
    return (await this.jar.getCookies(url)).find((cookie) => cookie.key === name)?.value;
  }
}

function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form\b(?<head>[^>]*)>(?<body>[\s\S]*?)<\/form>/g)].map(({ groups }) => {
    const body = groups?.['body'] ?? '';
    const inputs = [...body.matchAll(/<input\b(?<attributes>[^>]*)>/g)].map(
      (input) => input.groups?.['attributes'] ?? '',
    );
    const buttons = [...body.matchAll(/<button\b(?<attributes>[^>]*)>(?<words>[\s\S]*?)<\/button>/g)];
    return {
      action: attribute(groups?.['head'], 'action') ?? '',
      method: attribute(groups?.['head'], 'method') ?? 'get',
      fields: new Map(inputs.flatMap((input) => named(input))),
      buttons: new Map(
        buttons.map((button) => {
          const [pair] = named(button.groups?.['attributes']);
          return [(button.groups?.['words'] ?? '').trim(), pair ?? null];
        }),
      ),
    };
  });
}

function named(attributes: string | undefined): [string, string][] {
  const name = attribute(attributes, 'name');
  return name === undefined ? [] : [[name, attribute(attributes, 'value') ?? '']];
}

function attribute(text: string | undefined, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(text ?? '')?.[1];
  return value
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
