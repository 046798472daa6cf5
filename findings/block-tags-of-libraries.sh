#!/bin/sh
# Blocks that libraries name when they send a transaction and read afterwards, with their defaults.
#
# Each library sends one transaction to a contract without a nonce and without a gas limit, waits for the receipt, and
# reads a value and a balance. A proxy in front of anvil prints the block parameter of each method; "none" is a request
# without this parameter.
#
# Versions: ethers 6.17.0 and 5.8.0, viem 2.57.20, web3.js 4.16.0, web3.py 8.0.0, anvil 1.7.1, Node.js 20, Python 3.11.
# Run: sh findings/block-tags-of-libraries.sh (needs node, npm, python3 with venv, npm and PyPI; Linux on x86_64).
# Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * web3.js reads the nonce at `latest`, the others at `pending`: two transactions sent without a wait get one nonce.
# * web3.js and web3.py estimate at `latest`; the others name no block, so the default of the node decides.
# * viem first calls `eth_fillTransaction`, which names no block at all ("viem with"). It reads nonce and estimate
#   itself only if the node rejects that method ("viem without").
# * All of them read at `latest` right after a receipt. If a node has receipts of a block that is not yet `latest`, they
#   read the state before their own transaction.
#
# Output:
#
# library        nonce     estimate  call      balance
# ethers 6       pending   none      latest    latest
# ethers 5       pending   none      latest    latest
# viem with      -         -         latest    latest
# viem without   pending   none      latest    latest
# web3.js 4      latest    latest    latest    latest
# web3.py 8      pending   latest    latest    latest
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ethers@6.17.0 ethers5@npm:ethers@5.8.0 viem@2.57.20 \
    web3@4.16.0 @foundry-rs/anvil-linux-amd64@1.7.1
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check web3==8.0.0
cat > web3py.py <<'PYTHON'
import sys

from eth_account import Account
from web3 import HTTPProvider, Web3
from web3.middleware import SignAndSendRawMiddlewareBuilder

url, key, address = sys.argv[1:]
w3 = Web3(HTTPProvider(url))
account = Account.from_key(key)
w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
counter = w3.eth.contract(address=address, abi=[
    {"type": "function", "name": "value", "inputs": [], "outputs": [{"type": "uint256"}], "stateMutability": "view"},
    {"type": "function", "name": "set", "inputs": [], "outputs": [], "stateMutability": "nonpayable"},
])
w3.eth.wait_for_transaction_receipt(counter.functions.set().transact({"from": account.address}))
counter.functions.value().call()
w3.eth.get_balance(account.address)
PYTHON
cat > tags.mjs <<'JAVASCRIPT'
import { execFile, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import * as ethers from 'ethers'
import { ethers as ethers5 } from 'ethers5'
import { createPublicClient, createWalletClient, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { Web3 } from 'web3'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const ABI = ['function value() view returns (uint256)', 'function set()']
const POSITION = { eth_getTransactionCount: 1, eth_estimateGas: 1, eth_call: 1, eth_getBalance: 1 }
const node = spawn('node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', ['--port', '0'])
let target
for await (const line of createInterface({ input: node.stdout })) {
  target = /Listening on (\S+)/.exec(line)?.[1]
  if (target) break
}
node.stdout.resume()

let named, isFilled
const proxy = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  for (const { method, params } of [JSON.parse(body)].flat())
    if (method in POSITION) (named[method] ??= new Set()).add(params[POSITION[method]] ?? 'none')
  const { id, method } = JSON.parse(body)
  const headers = { 'content-type': 'application/json' }
  if (method === 'eth_fillTransaction' && !isFilled) {
    const error = { code: -32601, message: 'the method eth_fillTransaction does not exist' }
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, error }))
  }
  const answer = await fetch(`http://${target}`, { method: 'POST', body, headers })
  response.writeHead(200, headers).end(await answer.text())
})
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${proxy.address().port}`
const { address } = privateKeyToAccount(KEY)
const rpc = async (method, ...params) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`http://${target}`, { method: 'POST', body, headers })).json()
}
// Code that returns a word of zeros for any input.
const contract = ethers.getAddress(`0x${'11'.repeat(20)}`)
await rpc('anvil_setCode', contract, '0x60206000f3')

async function useViem() {
  const settings = { chain: foundry, transport: http(url) }
  const client = createPublicClient(settings)
  const wallet = createWalletClient({ account: privateKeyToAccount(KEY), ...settings })
  const counter = { address: contract, abi: parseAbi(ABI) }
  const hash = await wallet.writeContract({ ...counter, functionName: 'set' })
  await client.waitForTransactionReceipt({ hash })
  await client.readContract({ ...counter, functionName: 'value' })
  await client.getBalance({ address })
}

const json = JSON.parse(new ethers.Interface(ABI).formatJson())
const libraries = {
  'ethers 6': async () => {
    const provider = new ethers.JsonRpcProvider(url)
    const counter = new ethers.Contract(contract, ABI, new ethers.Wallet(KEY, provider))
    await (await counter.set()).wait()
    await counter.value()
    await provider.getBalance(address)
  },
  'ethers 5': async () => {
    const provider = new ethers5.providers.JsonRpcProvider(url)
    const counter = new ethers5.Contract(contract, ABI, new ethers5.Wallet(KEY, provider))
    await (await counter.set()).wait()
    await counter.value()
    await provider.getBalance(address)
  },
  'viem with': useViem,
  'viem without': useViem,
  'web3.js 4': async () => {
    const web3 = new Web3(url)
    web3.eth.accounts.wallet.add(KEY)
    const counter = new web3.eth.Contract(json, contract)
    await counter.methods.set().send({ from: address })
    await counter.methods.value().call()
    await web3.eth.getBalance(address)
  },
  'web3.py 8': () => promisify(execFile)('venv/bin/python', ['web3py.py', url, KEY, contract]),
}
const row = (name, ...cells) => console.log((name.padEnd(15) + cells.map((cell) => cell.padEnd(10)).join('')).trimEnd())
row('library', 'nonce', 'estimate', 'call', 'balance')
for (const [name, use] of Object.entries(libraries)) {
  named = {}
  isFilled = name !== 'viem without'
  await use()
  row(name, ...Object.keys(POSITION).map((method) => [...(named[method] ?? ['-'])].join('+')))
}
node.kill()
process.exit(0)
JAVASCRIPT
node tags.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
