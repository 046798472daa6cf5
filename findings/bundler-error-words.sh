#!/bin/sh
# What viem makes of a bundler's error whose text has the letters of an ERC-4337 error code by chance.
#
# A server in this script answers `eth_sendUserOperation` with a JSON-RPC error whose message names an address.
#
# Versions: viem 2.57.20, Node.js 20.
# Run: sh findings/bundler-error-words.sh (needs node and npm). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * viem searches the whole text for codes such as `aa50`, in lower case and without word boundaries. An address with
#   these four digits makes "Paymaster `postOp` function reverted" of an error that has nothing to do with a paymaster.
#   The message of the bundler is still in `details`.
#
# Output:
#
# address in the message                      class of the error's cause
# 0x1111111111111111111111111111111111111111  UnknownBundlerError
# 0x1111111111aa5011111111111111111111111111  PaymasterPostOpFunctionRevertedError
# 0x1111111111aa2311111111111111111111111111  SmartAccountFunctionRevertedError
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts viem@2.57.20
cat > words.mjs <<'JAVASCRIPT'
import { createServer } from 'node:http'
import { http } from 'viem'
import { createBundlerClient, entryPoint07Address } from 'viem/account-abstraction'

let address
const server = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => (text += chunk))
  request.on('end', () => {
    const { id } = JSON.parse(text)
    const error = { code: -32000, message: `the account ${address} is not known here` }
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ jsonrpc: '2.0', id, error }))
  })
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const bundler = createBundlerClient({ transport: http(`http://127.0.0.1:${server.address().port}`, { retryCount: 0 }) })
const row = (one, other) => console.log(`${one.padEnd(44)}${other}`)
row('address in the message', "class of the error's cause")
for (const middle of ['1111', 'aa50', 'aa23']) {
  address = `0x${'1'.repeat(10)}${middle}${'1'.repeat(26)}`
  const operation = {
    sender: `0x${'22'.repeat(20)}`,
    nonce: 0n,
    callData: '0x',
    callGasLimit: 1n,
    verificationGasLimit: 1n,
    preVerificationGas: 1n,
    maxFeePerGas: 1n,
    maxPriorityFeePerGas: 1n,
    signature: '0x',
  }
  try {
    await bundler.sendUserOperation({ ...operation, entryPointAddress: entryPoint07Address })
    row(address, 'no error')
  } catch (error) {
    row(address, error.cause?.name ?? error.name)
  }
}
server.close()
JAVASCRIPT
node words.mjs > found
sed -n '/^# Output:$/,/^set -eu$/p' "$script" | sed -n 's/^# //p' | sed 1d > expected
cat found
diff expected found
