#!/bin/sh
# The nonce that ethers 6 uses for a transaction sent right after the receipt of another one.
#
# The provider runs in this process and answers at once, as a node that seals each transaction in its own block. Two
# transactions are sent, the second after `wait()` of the first.
#
# Versions: ethers 6.17.0, Node.js 20.
# Run: sh findings/ethers-cached-nonce.sh (needs node and npm). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * A provider shares the result of equal reads for 250 ms (`cacheTimeout`), and `eth_getTransactionCount` is one of
#   them. If a node is fast enough, the second transaction gets the nonce of the first one, although its receipt
#   is there: NONCE_EXPIRED.
# * `cacheTimeout: -1` switches this off. So does `NonceManager`, which counts by itself.
#
# Output:
#
# default              nonces 0, NONCE_EXPIRED
# cacheTimeout: -1     nonces 0, 1
# NonceManager         nonces 0, 1
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ethers@6.17.0
cat > nonce.mjs <<'JAVASCRIPT'
import { JsonRpcApiProvider, NonceManager, Transaction, Wallet, toQuantity } from 'ethers'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const hash = (number) => `0x${number.toString(16).padStart(64, '0')}`

/** A node that seals each transaction at once. */
class Chain extends JsonRpcApiProvider {
  transactions = []

  async _send(payload) {
    return [payload].flat().map(({ id, method, params }) => ({ id, ...this.#answer(method, params) }))
  }

  #answer(method, params) {
    const number = toQuantity(this.transactions.length)
    switch (method) {
      case 'eth_blockNumber':
      case 'eth_getTransactionCount':
        return { result: number }
      case 'eth_estimateGas':
        return { result: '0x5208' }
      case 'eth_gasPrice':
      case 'eth_maxPriorityFeePerGas':
        return { result: '0x1' }
      case 'eth_getBlockByNumber':
        return { result: this.#block() }
      case 'eth_sendRawTransaction': {
        const sent = Transaction.from(params[0])
        if (sent.nonce !== this.transactions.length) return { error: { code: -32000, message: 'nonce too low' } }
        this.transactions.push(sent)
        return { result: sent.hash }
      }
      case 'eth_getTransactionReceipt':
        return { result: this.#receipt(this.transactions.findIndex((sent) => sent.hash === params[0])) }
    }
    throw new Error(method)
  }

  #block() {
    const number = this.transactions.length
    const zero = '0x0'
    return {
      ...{ number: toQuantity(number), hash: hash(number + 1), parentHash: hash(number), timestamp: '0x1' },
      nonce: '0x0000000000000000',
      ...{ difficulty: zero, gasLimit: '0x1c9c380', gasUsed: zero, miner: `0x${'00'.repeat(20)}`, extraData: '0x' },
      ...{ baseFeePerGas: '0x7', transactions: [] },
    }
  }

  #receipt(index) {
    const { from, to, hash: transactionHash } = this.transactions[index]
    return {
      ...{ from, to, transactionHash, contractAddress: null, logs: [], logsBloom: `0x${'00'.repeat(256)}` },
      ...{ blockHash: hash(index + 2), blockNumber: toQuantity(index + 1), transactionIndex: '0x0', status: '0x1' },
      ...{ gasUsed: '0x5208', cumulativeGasUsed: '0x5208', effectiveGasPrice: '0x8', type: '0x2' },
    }
  }
}

async function nonces(wallet) {
  const found = []
  for (let sent = 0; sent < 2; sent++) {
    try {
      const transaction = await wallet.sendTransaction({ to: await wallet.getAddress() })
      await transaction.wait()
      found.push(transaction.nonce)
    } catch (error) {
      found.push(error.code)
    }
  }
  return found.join(', ')
}

const chain = (options) => new Chain(31337, { staticNetwork: true, ...options })
const wallets = {
  default: new Wallet(KEY, chain()),
  'cacheTimeout: -1': new Wallet(KEY, chain({ cacheTimeout: -1 })),
  NonceManager: new NonceManager(new Wallet(KEY, chain())),
}
for (const wallet of Object.values(wallets)) wallet.provider._start()
for (const [name, wallet] of Object.entries(wallets)) console.log(`${name.padEnd(20)} nonces ${await nonces(wallet)}`)
process.exit(0)
JAVASCRIPT
node nonce.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
