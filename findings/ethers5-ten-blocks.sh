#!/bin/sh
# Events that a listener of ethers hears if more than ten blocks come between two polls.
#
# anvil seals each transaction in its own block. After the listener has polled once, one transaction emits an event,
# and anvil seals 5 or 15 further blocks before the next poll.
#
# Versions: ethers 5.8.0 and 6.17.0, anvil 1.7.1, Node.js 20.
# Run: sh findings/ethers5-ten-blocks.sh (needs node and npm; Linux on x86_64). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * ethers 5 polls `eth_getLogs` for at most the newest ten blocks. Events of older blocks since its last poll are lost,
#   without an error. With its default interval of 4 s that is a chain with more than 2.5 blocks a second.
# * ethers 6 polls all blocks since its last poll.
#
# Output:
#
# blocks    ethers 5  ethers 6
# 5         1         1
# 15        0         1
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts ethers@6.17.0 ethers5@npm:ethers@5.8.0 \
    @foundry-rs/anvil-linux-amd64@1.7.1
cat > events.mjs <<'JAVASCRIPT'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import * as ethers6 from 'ethers'
import { ethers as ethers5 } from 'ethers5'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const LOGGER = `0x${'11'.repeat(20)}`
const node = spawn('node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', ['--port', '0'])
let url
for await (const line of createInterface({ input: node.stdout })) {
  const found = /Listening on (\S+)/.exec(line)
  if (found) {
    url = `http://${found[1]}`
    break
  }
}
node.stdout.resume()

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const sender = new ethers6.Wallet(KEY, new ethers6.JsonRpcProvider(url, undefined, { cacheTimeout: -1 }))
const { provider } = sender
// Emits an event without topics for any input.
await provider.send('anvil_setCode', [LOGGER, '0x60006000a000'])

/** Returns the number of events that a provider hears. */
async function heard(listener, blocks) {
  let events = 0
  let polls = 0
  listener.on('block', () => polls++)
  listener.on({ address: LOGGER }, () => events++)
  // The first poll finds the current block, a later one the next.
  await sleep(6000)
  polls = 0
  await provider.send('anvil_mine', ['0x1'])
  while (polls === 0) await sleep(10)
  await sleep(500)
  await (await sender.sendTransaction({ to: LOGGER })).wait()
  await provider.send('anvil_mine', [ethers6.toQuantity(blocks)])
  await sleep(10_000)
  listener.removeAllListeners()
  return events
}

console.log('blocks    ethers 5  ethers 6')
for (const blocks of [5, 15]) {
  const five = await heard(new ethers5.providers.JsonRpcProvider(url), blocks)
  const six = await heard(new ethers6.JsonRpcProvider(url), blocks)
  console.log(`${String(blocks).padEnd(10)}${String(five).padEnd(10)}${six}`)
}
node.kill()
process.exit(0)
JAVASCRIPT
node events.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
