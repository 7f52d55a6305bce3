/** A scope as the consent page says it. */
export interface ScopeWords {
  readonly scope: string;
  readonly words: string;
}

/** What a scope of the form `resource:read` or `resource:write` lets the app do, for the person who is asked. */
export function toScopeWords(scope: string): ScopeWords {
  const [resource = '', permission = ''] = scope.split(':');
  const things = toPlural(resource.toLowerCase().replaceAll(/[-_.]/g, ' '));
  const words = permission === 'write' ? `Create, change and delete your ${things}` : `See your ${things}`;
  return { scope, words };
}

const SEVERAL = new Set(['workspace', 'room', 'mural', 'template', 'user']);

/** The public service names some resources in the singular and some in the plural; people own several. */
function toPlural(resource: string): string {
  return SEVERAL.has(resource) ? `${resource}s` : resource;
}
