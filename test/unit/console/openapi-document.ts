import { readFileSync } from 'node:fs';

interface Reference {
  readonly $ref: string;
}

interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: { readonly allOf?: readonly unknown[] } }>>;
}

interface Operation {
  readonly operationId: string;
  readonly security: readonly unknown[];
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

interface OpenapiDocument {
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

const FILE = new URL('../../../public/openapi.json', import.meta.url);

export const openapi = JSON.parse(readFileSync(FILE, 'utf8')) as OpenapiDocument;

const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => method !== 'parameters')
    .map(([method, { security, responses }]) => ({
      path,
      method: method.toUpperCase(),
      security,
      responses,
    })),
);

/** Returns every route with its response statuses. */
export function routes() {
  return operations.map(({ path, method, security, responses }) => ({
    path,
    method,
    needsSession: security.length > 0,
    statuses: Object.keys(responses),
  }));
}

/** Returns the documented problems, sorted, each as its status and its code. */
export function documentedProblems(): string[] {
  const found = operations.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, response]) =>
      codesOf(response).map((code) => `${status} ${code}`),
    ),
  );
  return [...new Set(found)].toSorted();
}

function codesOf(response: Response | Reference): string[] {
  const { content } =
    '$ref' in response
      ? (openapi.components.responses[response.$ref.split('/').at(-1) ?? ''] ?? {})
      : response;
  const parts = content?.['application/problem+json']?.schema.allOf ?? [];
  return parts.flatMap((part) => {
    const { properties } = part as { properties?: { code: { enum: string[] } } };
    return properties?.code.enum ?? [];
  });
}
