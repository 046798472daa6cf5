// Payment button for a shop's page:
//
//   <script src="https://PAY/checkout/static/checkout/button.js" data-order-url="/orders" async></script>
//
// data-checkout-url  payment link of an existing order
// data-order-url     address of the shop that creates the order by POST and returns {"checkout_url": "..."}
// data-mode          `page` (default) leaves the shop's page, `popup` opens a window
// data-label         text of the button
//
// The button dispatches `foreseal-checkout` events that bubble: `detail` is {order, status}, or {error}. A status in a
// browser is for display only; the shop ships on its webhook or on the API's answer.

(() => {
  'use strict';
  const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
  if (script === null) return;
  const service = new URL(script.src);
  const { checkoutUrl, orderUrl, mode = 'page', label = 'Pay with stablecoins' } = script.dataset;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'foreseal-button';
  button.textContent = label;

  /** @param {object} detail */
  const dispatch = (detail) => button.dispatchEvent(new CustomEvent('foreseal-checkout', { detail, bubbles: true }));

  /**
   * Returns a payment link of this service only, so that a wrong answer cannot send shoppers elsewhere.
   * @param {unknown} text
   */
  const checked = (text) => {
    const url = new URL(String(text));
    if (url.origin !== service.origin || !url.pathname.includes('/checkout/')) throw new Error('not a payment link of this service');
    return url.href;
  };

  const findLink = async () => {
    if (checkoutUrl) return checked(checkoutUrl);
    if (!orderUrl) throw new Error('data-checkout-url or data-order-url is required');
    const response = await fetch(orderUrl, { method: 'POST', credentials: 'same-origin' });
    if (!response.ok) throw new Error(`the shop returned HTTP status ${response.status}`);
    return checked((await response.json()).checkout_url);
  };

  button.addEventListener('click', async () => {
    button.disabled = true;
    button.setAttribute('aria-busy', 'true');
    // A window that opens after a wait would be blocked.
    const opened = mode === 'popup' ? window.open('about:blank', '_blank', 'popup,width=480,height=760') : null;
    try {
      const link = await findLink();
      if (opened === null) {
        window.location.assign(link);
        return;
      }
      window.addEventListener('message', ({ origin, source, data }) => {
        if (origin !== service.origin || source !== opened || data?.type !== 'foreseal.checkout') return;
        dispatch({ order: String(data.order), status: String(data.status) });
      });
      opened.location.replace(link);
    } catch (error) {
      opened?.close();
      dispatch({ error: error instanceof Error ? error.message : 'unknown error' });
    } finally {
      button.disabled = false;
      button.removeAttribute('aria-busy');
    }
  });
  script.after(button);
})();
