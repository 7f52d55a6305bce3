import { createHash } from 'node:crypto';
import { isNumberText, isObjectText, isStringText, membersOf } from './json.ts';

/** Which items came by, in their order: so few bytes for any number of them. */
export interface ItemTrail {
  readonly length: number;
  /** `item` is JSON text. */
  add(item: string): void;
  /** Two are the same where the same items came by in the same order. */
  digest(): string;
}

/** Items are the same where their `id` is, or, where they have none, where they are written the same. */
export function createItemTrail(): ItemTrail {
  const hash = createHash('sha256');
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(item) {
      length += 1;
      const name = nameOf(item);
      hash.update(`${name.length} ${name}`); // the length keeps two neighbours apart
    },
    digest: () => hash.copy().digest('base64url'),
  };
}

function nameOf(item: string): string {
  const id = isObjectText(item) ? membersOf(item).get('id') : undefined;
  return id !== undefined && (isStringText(id) || isNumberText(id)) ? id : item;
}
