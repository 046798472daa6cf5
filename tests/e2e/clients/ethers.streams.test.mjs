// ethers 6, unmodified, over a WebSocket: run by tests/e2e/clients/test_ethers.py.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { ContractFactory, JsonRpcProvider, NonceManager, SocketSubscriber, Wallet, WebSocketProvider } from 'ethers'
import { board, hearThenUndo, key, socketUrl, url, waitFor } from './live.mjs'

const provider = new WebSocketProvider(socketUrl)
// Transactions use another connection than the one under test.
const sender = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 50, staticNetwork: true })
const wallet = new NonceManager(new Wallet(key, sender))
const deployed = await (await new ContractFactory(board.abi, board.bytecode, wallet).deploy(1)).waitForDeployment()
const address = await deployed.getAddress()
// Explicit gas, since the contract may be missing from the latest block, which estimates use.
const gas = { gasLimit: 200_000 }

after(async () => {
  // The provider sends its unsubscriptions without waiting.
  await provider.getBlockNumber()
  await provider.destroy()
  sender.destroy()
})

/** A subscription of any kind: ethers' own class, which passes messages on. */
class Stream extends SocketSubscriber {
  heard = []

  async _emit(_, message) {
    this.heard.push(message)
  }
}

function subscribe(...params) {
  const stream = new Stream(provider, params)
  stream.start()
  return stream
}

test('blocks, pending transactions and logs arrive by the events of the provider', async () => {
  const [blocks, pending, logs] = [[], [], []]
  const filter = { address }
  await provider.on('block', (number) => blocks.push(number))
  await provider.on('pending', (hash) => pending.push(hash))
  await provider.on(filter, (log) => logs.push(log))
  // The provider sends its subscriptions without waiting; this response comes after theirs.
  await provider.getBlockNumber()
  const { hash } = await deployed.set(2, 'by events', gas)
  await waitFor('pending transaction', () => pending.includes(hash))
  const log = await waitFor('log', () => logs.find(({ transactionHash }) => transactionHash === hash))
  assert.equal(log.removed, false)
  await waitFor('block', () => blocks.includes(log.blockNumber))
  assert.equal((await provider.getBlock(log.blockNumber)).hash, log.blockHash)
  await provider.off('block')
  await provider.off('pending')
  await provider.off(filter)
})

test('pre-confirmed logs and transactions arrive before their block is sealed', async () => {
  const streams = {
    heads: subscribe('newHeads'),
    logs: subscribe('logs', { address }),
    pendingLogs: subscribe('pendingLogs', { address }),
    hashes: subscribe('newFlashblockTransactions'),
    full: subscribe('newFlashblockTransactions', true),
  }
  await provider.getBlockNumber()
  const { hash } = await deployed.set(3, 'pre-confirmed', gas)
  await hearThenUndo(streams, hash)
  for (const stream of Object.values(streams)) stream.stop()
})

test('after the end of a subscription nothing comes', async () => {
  const [ended, other] = [subscribe('newHeads'), subscribe('newHeads')]
  await waitFor('head', () => ended.heard.length > 0 && other.heard.length > 0)
  ended.stop()
  await provider.getBlockNumber()
  const [before, seen] = [ended.heard.length, other.heard.length]
  await waitFor('two more heads', () => other.heard.length >= seen + 2)
  assert.equal(ended.heard.length, before)
  other.stop()
})
