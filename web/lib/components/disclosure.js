// Details that render their content only while they are open.

import { html, useState } from './ui.js';

/**
 * @param {{summary: import('./ui.js').Child, children: () => import('./ui.js').Child, isOpen?: boolean, className?: string}} props
 */
export function Disclosure({ summary, children, isOpen = false, className }) {
  const [open, setOpen] = useState(isOpen);
  return html`<details class=${className} open=${open} onToggle=${(/** @type {any} */ event) => setOpen(event.currentTarget.open)}>
    <summary>${summary}</summary>
    ${open && children()}
  </details>`;
}
