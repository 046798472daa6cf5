// Details that render their content only while they are open.

import { html, useState } from './ui.js';

/** @typedef {import('./ui.js').Child} Child */

/**
 * @param {{summary: Child, children: () => Child, isOpen?: boolean, className?: string}} props
 */
export function Disclosure({ summary, children, isOpen = false, className }) {
  const [open, setOpen] = useState(isOpen);
  /** @param {{currentTarget: {open: boolean}}} event */
  const onToggle = (event) => setOpen(event.currentTarget.open);
  return html`<details class=${className} open=${open} onToggle=${onToggle}>
    <summary>${summary}</summary>
    ${open && children()}
  </details>`;
}
