// Objects that all pages share.

import { useEffect, useState } from '../lib/components/ui.js';
import { RpcClient } from '../lib/rpc.js';
import { Router } from '../lib/router.js';
import { Live } from './live.js';

export const BASE = '/explorer';
/** The node serves JSON-RPC at the root of the same origin. */
const ENDPOINT = new URL('/', window.location.href).href;

export const router = new Router(BASE, [
  { name: 'home', pattern: '/' },
  { name: 'block', pattern: '/block/:id' },
  { name: 'block', pattern: '/block/:id/step/:index' },
  { name: 'transaction', pattern: '/tx/:hash' },
  { name: 'address', pattern: '/address/:address' },
  { name: 'logs', pattern: '/logs' },
  { name: 'pool', pattern: '/pool' },
  { name: 'status', pattern: '/status' },
  { name: 'search', pattern: '/search' },
]);

export const rpc = new RpcClient(ENDPOINT);
export const endpoint = ENDPOINT;
export const live = new Live(rpc, ENDPOINT);

/** Renders the component again with each message of the live chain. */
export function useLive() {
  const [, setVersion] = useState(0);
  useEffect(() => live.subscribe(() => setVersion((version) => version + 1)), []);
  return live;
}
