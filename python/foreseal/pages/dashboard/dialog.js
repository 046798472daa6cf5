// Dialog in which a user confirms a change.

import { ErrorNotice } from '../lib/components/errors.js';
import { html, useEffect, useId, useRef, useState } from '../lib/components/ui.js';
import { Change } from './api.js';

/** @typedef {import('../lib/components/ui.js').Child} Child */

/**
 * A button that opens a dialog. `send` sends the change after the user has confirmed; its error stays in the dialog,
 * and its answer goes to `onDone`.
 * @template T
 * @param {{label: string, title?: string, confirm?: string, isDanger?: boolean, isPrimary?: boolean,
 *   children?: () => Child, send: (change: Change) => Promise<T>, onDone?: (answer: T) => void,
 *   isReady?: boolean}} props
 */
export function ActionButton(
  { label, title = label, confirm = label, isDanger = false, isPrimary = false, children, send, onDone, isReady = true },
) {
  const [isOpen, setIsOpen] = useState(false);
  // It outlives the dialog: a user who closes it after a lost answer and confirms again repeats the same change.
  const [change] = useState(() => new Change());
  const look = isDanger ? 'button button-danger' : isPrimary ? 'button button-primary' : 'button';
  return html`<button type="button" class=${look} onClick=${() => setIsOpen(true)}>
      ${label}</button>
    ${isOpen && html`<${Confirmation} ...${{ title, confirm, isDanger, children, change, send, onDone, isReady }}
      onClose=${() => setIsOpen(false)} />`}`;
}

/**
 * @template T
 * @param {{title: string, confirm: string, isDanger: boolean, children?: () => Child, change: Change,
 *   send: (change: Change) => Promise<T>, onDone?: (answer: T) => void, isReady: boolean, onClose: () => void}} props
 */
function Confirmation({ title, confirm, isDanger, children, change, send, onDone, isReady, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [isSending, setIsSending] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const heading = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setIsSending(true);
    setError(null);
    try {
      const answer = await send(change);
      onClose();
      onDone?.(answer);
    } catch (failure) {
      setError(failure);
      setIsSending(false);
    }
  };
  return html`<dialog class="dialog" ref=${dialog} aria-labelledby=${heading} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      <h2 id=${heading}>${title}</h2>
      ${children?.()}
      ${error && html`<${ErrorNotice} error=${error} />`}
      <div class="actions">
        <button type="submit" class=${isDanger ? 'button button-danger' : 'button button-primary'}
          disabled=${isSending || !isReady}>${isSending ? 'Sending…' : confirm}</button>
        <button type="button" class="button" onClick=${onClose}>Back</button>
      </div>
    </form>
  </dialog>`;
}
