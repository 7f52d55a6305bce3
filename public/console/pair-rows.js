/** Rows of a name and a value: the parameters of the query, and the headers. */
import { find, make, makeButton } from '../elements.js';

/** @typedef {import('./request-rules.js').Pair} Pair */
/** @typedef {import('./request-rules.js').Fault} Fault */

/**
 * @typedef {object} PairRows
 * @property {() => Pair[]} read Every row, so that a fault’s row is the row’s own place.
 * @property {(pairs: readonly Pair[]) => void} replace
 * @property {(faults: readonly Fault[]) => void} show
 */

/**
 * @param {HTMLElement} group The group with its list and its button; `data-thing` says what a row is.
 * @param {() => void} onChange
 * @returns {PairRows}
 */
export function createPairRows(group, onChange) {
  const list = find(group, '[data-list]', HTMLUListElement);
  const add = find(group, '[data-add]', HTMLButtonElement);
  const thing = group.dataset['thing'] ?? '';
  let made = 0;

  /** @param {Pair} pair */
  const addRow = ([name, value]) => {
    const id = `${group.dataset['rows'] ?? ''}-${(made += 1)}`;
    const plain = {
      type: 'text',
      autocomplete: 'off',
      autocapitalize: 'none',
      spellcheck: 'false',
      'aria-describedby': `${id}-fault`,
    };
    const nameInput = make('input', {
      ...plain,
      'aria-label': `Name of the ${thing}`,
      placeholder: 'Name',
      'data-name': '',
    });
    const valueInput = make('input', {
      ...plain,
      placeholder: 'Value',
      'data-value': '',
    });
    nameInput.value = name;
    valueInput.value = value;
    const row = make('li');
    const remove = makeButton('Remove', () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      (next?.querySelector('button') ?? add).focus(); // not lost with the row
      onChange();
    });
    const label = () => {
      remove.setAttribute('aria-label', `Remove the ${thing} ${nameInput.value}`.trim());
      valueInput.setAttribute('aria-label', `Value of the ${thing} ${nameInput.value}`.trim());
    };
    label();
    nameInput.addEventListener('input', label);
    row.append(nameInput, valueInput, remove, make('p', { class: 'fault', id: `${id}-fault`, hidden: '' }));
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
    show(faults) {
      for (const [at, row] of [...list.children].entries()) {
        const fault = faults.find((each) => each.row === at);
        showFault(find(row, '.fault', HTMLElement), [...row.querySelectorAll('input')], fault);
      }
    },
  };
}

/**
 * Shows what is wrong beside its field, or that nothing is.
 * @param {HTMLElement} place
 * @param {readonly HTMLElement[]} fields
 * @param {Fault | undefined} fault
 */
export function showFault(place, fields, fault) {
  place.hidden = fault === undefined;
  place.textContent = fault?.text ?? '';
  place.classList.toggle('fault--stops', fault?.stops === true);
  for (const field of fields) {
    if (fault?.stops === true) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  }
}
