// Wallet of tests: EIP-1193 and EIP-6963, behaving like MetaMask. `wallet` holds its state; tests change it.
// Signatures come from the test's process by `window.testWalletSign`, so that no key is in the page.
(() => {
  if (window.top !== window) return;
  const options = /* OPTIONS */ null;
  const listeners = new Map();
  const wallet = { ...options, calls: [], isConnected: false };
  const fail = (code, message) => Object.assign(new Error(message), { code });
  const emit = (event, value) => (listeners.get(event) ?? []).forEach((listener) => listener(value));
  const switchTo = (chainId) => {
    wallet.chainId = chainId;
    emit('chainChanged', chainId);
    return null;
  };
  const request = async ({ method, params = [] }) => {
    wallet.calls.push({ method, params });
    if (wallet.isLocked) throw fail(-32002, 'Request already pending.');
    if (wallet.rejects.includes(method)) throw fail(4001, 'User rejected the request.');
    if (wallet.unsupported.includes(method)) throw fail(-32601, 'The method does not exist.');
    switch (method) {
      case 'eth_requestAccounts':
        wallet.isConnected = true;
        return wallet.accounts;
      case 'eth_accounts':
        return wallet.isConnected ? wallet.accounts : [];
      case 'eth_chainId':
        return wallet.chainId;
      case 'wallet_switchEthereumChain':
        if (!wallet.chains.includes(params[0].chainId)) throw fail(4902, 'Unrecognized chain ID.');
        return switchTo(params[0].chainId);
      case 'wallet_addEthereumChain':
        wallet.chains.push(params[0].chainId);
        return switchTo(params[0].chainId);
      case 'eth_signTypedData_v4':
        if (wallet.switchesDuringSignature) {
          wallet.accounts = [...wallet.accounts].reverse();
          emit('accountsChanged', wallet.accounts);
        }
        return window.testWalletSign(params[0], params[1]);
      default:
        throw fail(-32601, `The method ${method} does not exist.`);
    }
  };
  const provider = {
    request,
    on: (event, listener) => listeners.set(event, [...(listeners.get(event) ?? []), listener]),
    removeListener: (event, listener) => listeners.set(event, (listeners.get(event) ?? []).filter((one) => one !== listener)),
  };
  wallet.switchAccounts = (accounts) => {
    wallet.accounts = accounts;
    emit('accountsChanged', accounts);
  };
  window.testWallet = wallet;
  if (!wallet.announces) {
    window.ethereum = provider;
    return;
  }
  const info = Object.freeze({ uuid: '7a1f0e52-6f0c-4c4c-9d4e-6c7c3c0f0a11', name: wallet.name, icon: 'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>', rdns: 'test.wallet' });
  const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
})();
