/** Finds and creates elements. Inserts text as text, never as markup. */

/** Finds an element that the template always contains. Throws if the element is missing. */
export function find<E extends Element>(root: ParentNode, selector: string, type: new () => E): E {
  const found = root.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Creates an element. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>> = {},
  children: readonly (Node | string)[] = [],
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Creates a button that does not submit a form. */
export function makeButton(
  label: string,
  press: () => void,
  attributes: Readonly<Record<string, string>> = {},
) {
  const button = make('button', { type: 'button', class: 'button button--small', ...attributes }, [label]);
  button.addEventListener('click', press);
  return button;
}
