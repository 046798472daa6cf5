#!/bin/sh
# Events that a listener over HTTP hears after a restart of the node, which has no filter any more.
#
# anvil saves its chain, ends and starts again on the same port. One transaction emits an event before, one 15 s after.
#
# Versions: ethers 5.8.0 and 6.17.0, viem 2.57.20, anvil 1.7.1, Node.js 20.
# Run: sh findings/filters-after-restart.sh (needs node and npm; Linux on x86_64). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * ethers 6 creates one filter per listener and never again. After the restart the listener stays silent: no event and
#   no exception, only "@TODO" in the log of each poll.
# * viem creates the filter again. ethers 5 has no filter: it polls `eth_getLogs`.
#
# Output:
#
# library   before  after
# ethers 5  1       1
# ethers 6  1       0
# viem      1       1
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ethers@6.17.0 ethers5@npm:ethers@5.8.0 viem@2.57.20 \
    @foundry-rs/anvil-linux-amd64@1.7.1
cat > restart.mjs <<'JAVASCRIPT'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import * as ethers6 from 'ethers'
import { ethers as ethers5 } from 'ethers5'
import { createPublicClient, http } from 'viem'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const LOGGER = `0x${'11'.repeat(20)}`
let node
let port = '0'

async function start() {
  const options = ['--port', port, '--block-time', '1', '--state', 'chain.json']
  node = spawn('node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', options)
  for await (const line of createInterface({ input: node.stdout })) {
    const found = /Listening on \S+:(\d+)/.exec(line)
    if (found) {
      port = found[1]
      break
    }
  }
  node.stdout.resume()
}

await start()
const url = `http://127.0.0.1:${port}`
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const request = async (method, params) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return (await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).json()
}
// Emits an event without topics for any input.
await request('anvil_setCode', [LOGGER, '0x60006000a000'])
const { address } = new ethers6.Wallet(KEY)

const listeners = {
  'ethers 5': new ethers5.providers.JsonRpcProvider(url),
  'ethers 6': new ethers6.JsonRpcProvider(url),
  viem: createPublicClient({ transport: http(url) }),
}
const heard = Object.fromEntries(Object.keys(listeners).map((name) => [name, 0]))
for (const name of ['ethers 5', 'ethers 6']) listeners[name].on({ address: LOGGER }, () => heard[name]++)
listeners.viem.watchEvent({ address: LOGGER, onLogs: (logs) => (heard.viem += logs.length) })
// ethers 6 logs the error of each poll.
console.log = () => {}

const counts = []
for (const stage of ['before', 'after']) {
  await sleep(15_000)
  await request('eth_sendTransaction', [{ from: address, to: LOGGER }])
  await sleep(10_000)
  counts.push({ ...heard })
  if (stage === 'before') {
    node.kill('SIGINT')
    await once(node, 'exit')
    await start()
  }
}
const row = (...cells) => process.stdout.write(`${cells[0].padEnd(10)}${String(cells[1]).padEnd(8)}${cells[2]}\n`)
row('library', 'before', 'after')
for (const name of Object.keys(listeners)) row(name, counts[0][name], counts[1][name] - counts[0][name])
node.kill('SIGKILL')
process.exit(0)
JAVASCRIPT
node restart.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
