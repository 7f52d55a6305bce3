/** Rows with a name and a value: the query parameters and the headers. */
import { find, make, makeButton } from '../elements.js';

/** @typedef {import('./request-rules.js').Pair} Pair */
/** @typedef {import('./request-rules.js').Issue} Issue */

/**
 * @typedef {object} PairRows
 * @property {() => Pair[]} read Reads every row, including empty rows, because an issue refers to its row by index.
 * @property {(pairs: readonly Pair[]) => void} replace
 * @property {(issues: readonly Issue[]) => void} show
 */

/**
 * @param {HTMLElement} group Contains a list and a button. `data-noun` is what a row is called.
 * @param {() => void} onChange
 * @returns {PairRows}
 */
export function createPairRows(group, onChange) {
  const list = find(group, '[data-list]', HTMLUListElement);
  const add = find(group, '[data-add]', HTMLButtonElement);
  const noun = group.dataset['noun'] ?? '';
  let created = 0;

  /** @param {Pair} pair */
  const addRow = ([name, value]) => {
    const id = `${group.dataset['rows'] ?? ''}-${(created += 1)}`;
    const attributes = {
      type: 'text',
      autocomplete: 'off',
      autocapitalize: 'none',
      spellcheck: 'false',
      'aria-describedby': `${id}-issue`,
    };
    const nameInput = make('input', {
      ...attributes,
      'aria-label': `Name of the ${noun}`,
      placeholder: 'Name',
      'data-name': '',
    });
    const valueInput = make('input', {
      ...attributes,
      placeholder: 'Value',
      'data-value': '',
    });
    nameInput.value = name;
    valueInput.value = value;
    const row = make('li');
    const remove = makeButton('Remove', () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      (next?.querySelector('button') ?? add).focus();
      onChange();
    });
    const label = () => {
      remove.setAttribute('aria-label', `Remove the ${noun} ${nameInput.value}`.trim());
      valueInput.setAttribute('aria-label', `Value of the ${noun} ${nameInput.value}`.trim());
    };
    label();
    nameInput.addEventListener('input', label);
    row.append(nameInput, valueInput, remove, make('p', { class: 'issue', id: `${id}-issue`, hidden: '' }));
    list.append(row);
    return nameInput;
  };

  add.addEventListener('click', () => {
    addRow(['', '']).focus();
    onChange();
  });

  return {
    read: () =>
      [...list.children].map((row) => [
        find(row, '[data-name]', HTMLInputElement).value.trim(),
        find(row, '[data-value]', HTMLInputElement).value,
      ]),
    replace(pairs) {
      list.replaceChildren();
      for (const pair of pairs) addRow(pair);
    },
    show(issues) {
      for (const [index, row] of [...list.children].entries()) {
        const issue = issues.find((each) => each.row === index);
        showIssue(find(row, '.issue', HTMLElement), [...row.querySelectorAll('input')], issue);
      }
    },
  };
}

/**
 * Shows an issue next to its fields or removes it.
 * @param {HTMLElement} place
 * @param {readonly HTMLElement[]} fields
 * @param {Issue | undefined} issue
 */
export function showIssue(place, fields, issue) {
  place.hidden = issue === undefined;
  place.textContent = issue?.text ?? '';
  place.classList.toggle('issue--blocking', issue?.isBlocking === true);
  for (const field of fields) {
    if (issue?.isBlocking === true) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  }
}
