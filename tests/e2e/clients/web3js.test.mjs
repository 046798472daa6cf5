// web3.js 1.x, unmodified, against a node with automine and `--revert-reason message`: run by
// tests/e2e/clients/test_web3js.py. These are the patterns of test suites for that version: a receipt is in `latest`,
// and the message of an error has the revert reason.
import assert from 'node:assert/strict'
import test from 'node:test'
import Eth from 'web3-eth'
import { board, key, url } from './live.mjs'

const eth = new Eth(url)
const account = eth.accounts.wallet.add(key).address
const [unlocked] = await eth.getAccounts()
const contract = await new eth.Contract(board.abi)
  .deploy({ data: board.bytecode, arguments: [7] })
  .send({ from: account, gas: 2_000_000 })

const REVERTS = [
  ['failWithReason', [], 'the board is closed'],
  ['failWithCustomError', [42], `custom error ${eth.abi.encodeFunctionSignature('Refused(address,uint256)')}`],
  ['divide', [0], 'division or modulo by zero'],
]

// Client without keys: the node signs with its own accounts, as test suites expect.
const remote = new Eth(url)

async function messageOf(promise) {
  const error = await promise.then(() => assert.fail('it did not revert'), (error) => error)
  return error.message
}

test('the estimate and the call of a revert name its reason', async () => {
  for (const [name, args, reason] of REVERTS) {
    const method = contract.methods[name](...args)
    for (const act of [method.estimateGas, method.call]) {
      assert.equal(await messageOf(act.call(method, { from: account })), `Returned error: execution reverted: ${reason}`)
    }
  }
  const silent = contract.methods.failWithoutData()
  assert.equal(await messageOf(silent.estimateGas({ from: account })), 'Returned error: execution reverted')
})

test('sending a transaction that reverts names its reason', async () => {
  const deployed = new remote.Contract(board.abi, contract.options.address)
  for (const [name, args, reason] of REVERTS) {
    const message = await messageOf(deployed.methods[name](...args).send({ from: unlocked }))
    assert.match(message, /revert/)
    assert.ok(message.includes(reason), message)
  }
})

test('the receipt of each transaction is in latest', async () => {
  const to = eth.accounts.create().address
  for (let count = 1; count <= 5; count++) {
    const sender = count % 2 ? eth : remote
    const from = count % 2 ? account : unlocked
    const receipt = await sender.sendTransaction({ from, to, value: 1, gas: 21_000 })
    const latest = await eth.getBlock('latest')
    assert.deepEqual([latest.number, latest.hash], [receipt.blockNumber, receipt.blockHash])
    assert.equal(await eth.getBalance(to), String(count))
  }
})
