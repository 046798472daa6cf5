// Scripts of the demo shop: an order's page follows the order, a product's page follows the payment window.

const POLL_INTERVAL = 500;

/** Reloads the page when the order reaches another stage. @param {HTMLElement} order */
function follow(order) {
  const { order: id, version } = order.dataset;
  const poll = async () => {
    try {
      const response = await fetch(`/orders/${encodeURIComponent(String(id))}/version`);
      if (response.ok && (await response.text()) !== version) {
        window.location.reload();
        return;
      }
    } catch {
      // The shop was stopped; the next poll tries again.
    }
    setTimeout(poll, POLL_INTERVAL);
  };
  setTimeout(poll, POLL_INTERVAL);
}

const order = document.querySelector('[data-version]');
if (order instanceof HTMLElement) follow(order);

document.addEventListener('foreseal-checkout', (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  const status = document.getElementById('checkout-status');
  if (status) status.textContent = detail.error ?? `Payment: ${detail.status}`;
  // Only the shop's page shows if the order is paid: it knows that from the webhook.
  if (['preconfirmed', 'confirmed', 'final'].includes(detail.status)) {
    window.location.assign(`/orders/${encodeURIComponent(detail.order)}`);
  }
});
