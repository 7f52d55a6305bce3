/** Finds and creates elements. Inserts text as text, never as markup. */

/**
 * Finds an element that the template always contains. Throws if the element is missing.
 * @template {Element} E
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => E} type
 * @returns {E}
 */
export function find(root, selector, type) {
  const found = root.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`the page has no ${selector}`);
  return found;
}

/**
 * Creates an element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string>>} attributes
 * @param {readonly (Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, children = []) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/**
 * Creates a button that does not submit a form.
 * @param {string} label
 * @param {() => void} press
 * @param {Readonly<Record<string, string>>} attributes
 */
export function makeButton(label, press, attributes = {}) {
  const button = make('button', { type: 'button', class: 'button button--small', ...attributes }, [label]);
  button.addEventListener('click', press);
  return button;
}
