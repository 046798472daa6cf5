// viem, unmodified, over a WebSocket: run by tests/e2e/clients/test_viem.py.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { createPublicClient, createWalletClient, http, publicActions, webSocket } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { board, hearThenUndo, key, rpc, socketUrl, url, waitFor } from './live.mjs'

const { abi, bytecode } = board
const account = privateKeyToAccount(key)
const client = createPublicClient({ chain: foundry, transport: webSocket(socketUrl, { reconnect: false }) })
// Transactions use another connection than the one under test.
const sender = createWalletClient({
  account,
  chain: foundry,
  transport: http(url),
  cacheTime: 0,
  pollingInterval: 50,
}).extend(publicActions)
const { contractAddress: address } = await sender.waitForTransactionReceipt({
  hash: await sender.deployContract({ abi, bytecode, args: [1n] }),
})
const nextNonce = () => sender.getTransactionCount({ address: account.address, blockTag: 'pending' })
// Explicit gas, since the contract may be missing from the latest block, which estimates use.
const set = async (value, note) =>
  sender.writeContract({
    address,
    abi,
    functionName: 'set',
    args: [value, note],
    nonce: await nextNonce(),
    gas: 200_000n,
  })

after(async () => (await client.transport.getRpcClient()).close())

/** Subscribes to any kind of stream; returns its messages, and a function that unsubscribes. */
async function subscribe(...params) {
  const heard = []
  const { unsubscribe } = await client.transport.subscribe({
    params,
    onData: ({ result }) => heard.push(result),
    onError: (error) => heard.push(error),
  })
  return { heard, unsubscribe }
}

test('blocks, pending transactions and logs arrive by the watchers', async () => {
  const [blocks, pending, events] = [[], [], []]
  const ends = [
    client.watchBlocks({ onBlock: (block) => blocks.push(block) }),
    client.watchPendingTransactions({ onTransactions: (hashes) => pending.push(...hashes) }),
    client.watchContractEvent({ address, abi, eventName: 'ValueSet', onLogs: (logs) => events.push(...logs) }),
  ]
  // The watchers subscribe without waiting; this response comes after theirs.
  await new Promise((resolve) => setImmediate(resolve))
  await client.getChainId()
  const hash = await set(2n, 'by watchers')
  await waitFor('pending transaction', () => pending.includes(hash))
  const event = await waitFor('event', () => events.find(({ transactionHash }) => transactionHash === hash))
  assert.deepEqual([event.args.value, event.removed], [2n, false])
  await waitFor('block', () => blocks.some(({ number, hash }) => number === event.blockNumber && hash === event.blockHash))
  for (const end of ends) end()
})

test('pre-confirmed logs and transactions arrive before their block is sealed', async () => {
  const streams = {
    heads: await subscribe('newHeads'),
    logs: await subscribe('logs', { address }),
    pendingLogs: await subscribe('pendingLogs', { address }),
    hashes: await subscribe('newFlashblockTransactions'),
    full: await subscribe('newFlashblockTransactions', true),
  }
  const hash = await set(3n, 'pre-confirmed')
  await hearThenUndo(streams, hash)
  for (const stream of Object.values(streams)) await stream.unsubscribe()
})

test('after the end of a subscription nothing comes', async () => {
  const [ended, other] = [await subscribe('newHeads'), await subscribe('newHeads')]
  await waitFor('head', () => ended.heard.length > 0 && other.heard.length > 0)
  await ended.unsubscribe()
  const [before, seen] = [ended.heard.length, other.heard.length]
  await waitFor('two more heads', () => other.heard.length >= seen + 2)
  assert.equal(ended.heard.length, before)
  await other.unsubscribe()
})

test('nothing that follows the answer of a subscription is lost while steps are made', async () => {
  // Each transaction transfers one wei to it: its balance is the number of transactions.
  const counter = privateKeyToAccount(generatePrivateKey()).address
  // The total number of notifications is below the capacity of a connection's queue.
  const TRANSACTIONS = 300
  const SUBSCRIPTIONS = 40
  const first = await subscribe('newFlashblockTransactions')
  const start = await nextNonce()
  const raw = await Promise.all(
    Array.from({ length: TRANSACTIONS }, (_, index) =>
      account.signTransaction({
        chainId: foundry.id,
        nonce: start + index,
        to: counter,
        value: 1n,
        gas: 21000n,
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 1n,
      }),
    ),
  )
  const included = async () => Number(await rpc('eth_getBalance', counter, 'pending'))
  let sent = 0
  const sending = (async () => {
    for (const transaction of raw) {
      // At most ten are ahead of the steps, so that the transactions last as long as the subscriptions.
      await waitFor('steps', async () => sent - (await included()) < 10)
      await rpc('eth_sendRawTransaction', transaction)
      sent += 1
    }
  })()
  const opened = []
  while (sent < TRANSACTIONS && opened.length < SUBSCRIPTIONS) {
    const stream = await subscribe('newFlashblockTransactions')
    const known = Number(await client.getBalance({ address: counter, blockTag: 'pending' }))
    opened.push({ ...stream, known })
    // Some steps come between the subscriptions.
    if (opened.length % 4 === 0) {
      await waitFor('a step', async () => sent === TRANSACTIONS || (await included()) > known)
    }
  }
  await sending
  await waitFor('all transactions', () => first.heard.length >= TRANSACTIONS)
  assert.equal(new Set(first.heard).size, TRANSACTIONS)
  const last = first.heard.at(-1)
  await waitFor('end of every subscription', () => opened.every(({ heard }) => heard.at(-1) === last))
  const during = opened.filter(({ known }) => known > 0 && known < TRANSACTIONS)
  assert.ok(during.length >= 10, `only ${during.length} subscriptions were opened while steps were made`)
  for (const { heard, known } of opened) {
    // Transactions missing from the state that was read after the response must arrive as notifications.
    const begin = TRANSACTIONS - heard.length
    assert.ok(begin <= known, `${begin - known} transactions were lost`)
    assert.deepEqual(heard, first.heard.slice(begin))
  }
  for (const stream of [first, ...opened]) await stream.unsubscribe()
})
