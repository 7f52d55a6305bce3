import type { Page } from 'playwright-core';

/**
 * Opens every `details` element on a page and returns the effects of hostile data. Finds scripts that ran, text parsed as markup,
 * overlapping rows, a displaced header, overflowing content, and text that could reorder its neighbours.
 */
export async function layoutDefects(page: Page): Promise<string[]> {
  await page.evaluate(`document.querySelectorAll('details').forEach((each) => { each.open = true; })`);
  return await page.evaluate<string[]>(FIND_DEFECTS);
}

const FIND_DEFECTS = `(() => {
  const called = (element) => '<' + element.localName + ' class="' + element.className + '">';
  const boxes = (elements) => elements.map((element) => [element, element.getBoundingClientRect()]);
  const width = document.documentElement.clientWidth;

  const ran = window.pwned === undefined ? [] : ['a script ran'];
  const markup = [...document.querySelectorAll('[data-hostile]')].map((each) => 'text became ' + called(each));

  const rows = boxes([...document.querySelectorAll('[data-items] li')]);
  const overlaps = rows
    .filter(([, box], nth) => nth > 0 && box.top < rows[nth - 1][1].bottom - 1)
    .map(([row]) => 'a row overlaps the row above: ' + row.textContent.trim().slice(0, 80));

  const header = document.querySelector('.site-header').getBoundingClientRect();
  const moved = header.top + scrollY !== 0 || header.left !== 0 || Math.abs(header.width - width) > 1 || header.height > 200;

  const beyond = boxes([...document.querySelectorAll('main, main *')])
    .filter(([, box]) => box.width > 0 && box.height > 0 && (box.right > width + 1 || box.left < -1))
    .filter(([element]) => !isCut(element))
    .map(([element, box]) => called(element) + ' reaches from ' + box.left + ' to ' + box.right);

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const leaks = [];
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (/[\\u202A-\\u202E\\u2066-\\u2069\\p{Script=Hebrew}\\p{Script=Arabic}]/u.test(text.data) && !isAlone(text))
      leaks.push('text could reorder its neighbours: ' + called(text.parentElement));
  }
  if (/[\\u202A-\\u202E\\u2066-\\u2069]/.test(document.title)) leaks.push('the title could be reordered');

  return [...ran, ...markup, ...overlaps, ...(moved ? ['the header has moved'] : []), ...beyond, ...leaks].slice(0, 20);

  function isCut(element) {
    const around = element.parentElement;
    if (around === null) return false;
    const inside = around.getBoundingClientRect().right <= width + 1;
    return (getComputedStyle(around).overflowX !== 'visible' && inside) || isCut(around);
  }

  // Returns whether the nearest element that isolates the text's direction contains only this text.
  function isAlone(text) {
    for (let element = text.parentElement; element !== null; element = element.parentElement) {
      if (element.textContent.trim() !== text.data.trim()) return false;
      const { display, unicodeBidi } = getComputedStyle(element);
      if (display !== 'inline' || unicodeBidi !== 'normal') return true;
    }
    return false;
  }
})()`;
