// Tabs in the pattern of ARIA: arrow keys move, only the selected tab is in the tab order.

import { html, useId, useRef } from './ui.js';

/** @typedef {{id: string, label: string, content: () => import('./ui.js').Child}} Tab */

/** @param {{label: string, tabs: Tab[], selected: string | null, onSelect: (id: string) => void}} props */
export function Tabs({ label, tabs, selected, onSelect }) {
  const prefix = useId();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const current = tabs.find((tab) => tab.id === selected) ?? tabs[0];
  if (current === undefined) return null;
  /** @param {number} index */
  const move = (index) => {
    const tab = tabs[(index + tabs.length) % tabs.length];
    if (tab === undefined) return;
    onSelect(tab.id);
    const button = list.current?.querySelectorAll('button')[tabs.indexOf(tab)];
    button?.focus();
  };
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    const index = tabs.indexOf(current);
    /** @type {Record<string, number>} */
    const targets = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    move(target);
  };
  return html`<div class="tabs">
    <div class="tab-list" role="tablist" aria-label=${label} ref=${list} onKeyDown=${onKeyDown}>
      ${tabs.map((tab) => html`<button type="button" role="tab" id=${`${prefix}-${tab.id}`} key=${tab.id}
        aria-selected=${tab === current ? 'true' : 'false'} aria-controls=${`${prefix}-panel`}
        tabindex=${tab === current ? 0 : -1} onClick=${() => onSelect(tab.id)}>${tab.label}</button>`)}
    </div>
    <div class="tab-panel" role="tabpanel" id=${`${prefix}-panel`} aria-labelledby=${`${prefix}-${current.id}`}
      tabindex="0" key=${current.id}>
      ${current.content()}
    </div>
  </div>`;
}
