// Sign-in with an API key. The page stays at its address, so no address to return to is passed on.

import { describeError, ErrorNotice } from '../lib/components/errors.js';
import { html, onValue, useEffect, useState } from '../lib/components/ui.js';
import { signIn } from './api.js';

/** @param {{hadSession: boolean, problem: unknown}} props */
export function SignIn({ hadSession, problem }) {
  const [key, setKey] = useState('');
  const [isSending, setIsSending] = useState(false);
  const [error, setError] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    document.title = 'Sign in · Foreseal payments';
  }, []);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setIsSending(true);
    setError(null);
    try {
      // A line of a terminal has words around the key.
      await signIn(/\bpay_\S+/.exec(key)?.[0] ?? key.trim());
    } catch (failure) {
      setError(failure);
      setIsSending(false);
    }
  };
  return html`<main class="sign-in stack">
    <h1>Payments</h1>
    ${hadSession && html`<p class="notice notice-warn" role="status">The session has ended. Sign in to continue.</p>`}
    ${problem && html`<${ErrorNotice} error=${problem} />`}
    <form class="panel stack" onSubmit=${submit}>
      <div class="field">
        <label for="api-key">API key</label>
        <input id="api-key" class="input mono" type="password" value=${key} onInput=${onValue(setKey)} required
          autocomplete="current-password" spellcheck="false" aria-invalid=${error ? 'true' : undefined}
          aria-describedby=${error ? 'api-key-error api-key-hint' : 'api-key-hint'} />
        ${error && html`<p id="api-key-error" class="field-error" role="alert">${describeError(error)}</p>`}
        <p id="api-key-hint" class="field-hint">The key decides what you may do. On the machine of the service, this command
          prints a new one: <code>foreseal pay keys create NAME --role admin --config pay.toml</code></p>
      </div>
      <button type="submit" class="button button-primary" disabled=${isSending || key === ''}>Sign in</button>
    </form>
  </main>`;
}
