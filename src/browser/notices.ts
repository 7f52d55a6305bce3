/** Short messages above the content, which screen readers announce. */

import { make, makeButton } from './elements.ts';

/** A link to a path on this origin, or a button. */
type NoticeAction =
  { readonly label: string; readonly href: string } | { readonly label: string; readonly press: () => void };

const place = (): HTMLElement | null => document.querySelector('[data-notices]');

/**
 * Shows a notice, replacing any earlier notice with the same name.
 * @returns The notice, with its text in a paragraph.
 */
export function showNotice(name: string, text: string, actions: readonly NoticeAction[] = []): HTMLElement {
  hideNotice(name);
  const notice = make('div', { class: 'notice', 'data-notice': name }, [
    make('p', {}, [text]),
    ...actions.map(toControl),
  ]);
  place()?.append(notice);
  return notice;
}

/** Removes a notice if it is shown. */
export function hideNotice(name: string) {
  place()?.querySelector(`[data-notice="${name}"]`)?.remove();
}

function toControl(action: NoticeAction) {
  return 'href' in action
    ? make('a', { class: 'button', href: action.href }, [action.label])
    : makeButton(action.label, action.press, { class: 'button' });
}
