/** Rows with a name and a value: the query parameters and the headers. */
import { find, make, makeButton } from '../elements.ts';
import type { Pair, Issue } from './request-rules.ts';

interface PairRows {
  /** Reads every row, including empty rows, because an issue refers to its row by index. */
  readonly read: () => Pair[];
  readonly replace: (pairs: readonly Pair[]) => void;
  readonly show: (issues: readonly Issue[]) => void;
}

/** @param group Contains a list and a button. `data-noun` is what a row is called. */
export function createPairRows(group: HTMLElement, onChange: () => void): PairRows {
  const list = find(group, '[data-list]', HTMLUListElement);
  const add = find(group, '[data-add]', HTMLButtonElement);
  const noun = group.dataset['noun'] ?? '';
  let created = 0;

  const addRow = ([name, value]: Pair) => {
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

/** Shows an issue next to its fields or removes it. */
export function showIssue(place: HTMLElement, fields: readonly HTMLElement[], issue: Issue | undefined) {
  place.hidden = issue === undefined;
  place.textContent = issue?.text ?? '';
  place.classList.toggle('issue--blocking', issue?.isBlocking === true);
  for (const field of fields) {
    if (issue?.isBlocking === true) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  }
}
