/** Finding and making elements. Text goes in as text, never as markup. */

/**
 * The element that a page of ours always has.
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
 * A button that does something and is no part of a form.
 * @param {string} words
 * @param {() => void} press
 * @param {Readonly<Record<string, string>>} attributes
 */
export function makeButton(words, press, attributes = {}) {
  const button = make('button', { type: 'button', class: 'button button--small', ...attributes }, [words]);
  button.addEventListener('click', press);
  return button;
}
