// The one search box.

import { html, useRef } from '../lib/components/ui.js';
import { router } from './context.js';
import { paths } from './paths.js';
import { directResult } from './search.js';

export function SearchBox() {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? '';
    if (text === '') return;
    router.navigate(directResult(text)?.path ?? paths.search(text));
    if (field.current) field.current.value = '';
    document.getElementById('main')?.focus({ preventScroll: true });
  };
  return html`<form class="search" role="search" onSubmit=${submit}>
    <label class="visually-hidden" for="search">Search</label>
    <input id="search" class="input" ref=${field} type="search" autocomplete="off" spellcheck="false"
      placeholder="Block, step 12.3, transaction or address" />
  </form>`;
}
