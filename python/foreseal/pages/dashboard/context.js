// Objects that all pages of the dashboard share.

import { Router } from '../lib/router.js';
import { ROOT } from './api.js';

export const router = new Router(`${ROOT}/dashboard`, [
  { name: 'overview', pattern: '/' },
  { name: 'orders', pattern: '/orders' },
  { name: 'order', pattern: '/orders/:id' },
  { name: 'payouts', pattern: '/payouts' },
  { name: 'payout', pattern: '/payouts/:id' },
  { name: 'transfers', pattern: '/transfers' },
  { name: 'webhooks', pattern: '/webhooks' },
  { name: 'keys', pattern: '/keys' },
  { name: 'export', pattern: '/export' },
]);
