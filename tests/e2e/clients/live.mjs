// Common helpers of both clients' tests: the node's address, reads of a pending block, and the expected messages of
// streams for a transaction.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

export const url = process.env.FORESEAL_URL
export const key = process.env.FORESEAL_KEY
if (!url || !key) throw new Error('FORESEAL_URL and FORESEAL_KEY name the node and the key of a funded account')

export const socketUrl = url.replace(/^http/, 'ws')

export const board = JSON.parse(readFileSync(new URL('../../support/contracts/Board.json', import.meta.url)))

const LOOK = 10 // ms between two polls
const ATTEMPTS = 5 // blocks that inOneBlock tries

/** Calls `look` until its result is truthy; fails after some seconds, with `what` in the message. */
export async function waitFor(what, look, seconds = 20) {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    const answer = await look()
    if (answer) return answer
    if (Date.now() > deadline) throw new Error(`no ${what} within ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, LOOK))
  }
}

/**
 * Runs `act` with the number of a block that is pending from its start to its end. If the block is sealed meanwhile,
 * `act` runs again at the start of another one, whether it failed or not.
 *
 * `sealed` returns the number of the latest block, as a number.
 */
export async function inOneBlock(sealed, act) {
  let cause
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const before = await sealed()
    if (attempt > 0) await waitFor('new block', async () => (await sealed()) > before)
    const number = (await sealed()) + 1
    try {
      const result = await act(number)
      if ((await sealed()) === number - 1) return result
    } catch (error) {
      if ((await sealed()) === number - 1) throw error
      cause = error
    }
  }
  throw new Error(`${ATTEMPTS} blocks were sealed before the test had looked into one of them: ${cause?.stack}`)
}

/** Sends a request over HTTP, independent of the client under test. */
export async function rpc(method, ...params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { result, error } = await answer.json()
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

/** Replaces the newest blocks, from the one with this number, by empty ones. */
export async function undoFrom(number) {
  const hash = async () => (await rpc('eth_getBlockByNumber', `0x${number.toString(16)}`, false)).hash
  const before = await hash()
  // A block that is sealed between the two requests makes the depth too small by one.
  while ((await hash()) === before) {
    const newest = Number(await rpc('eth_blockNumber'))
    await rpc('anvil_reorg', newest - Number(number) + 1, [])
  }
}

/**
 * Checks the `heard` messages of streams (`heads`, `logs`, `pendingLogs`, `hashes` and `full`) for a transaction with
 * one log: it is pre-confirmed, then sealed, then reorged.
 */
export async function hearThenUndo(streams, hash) {
  const [pendingLog, full] = await waitFor('pre-confirmed log', () => {
    const messages = [
      streams.pendingLogs.heard.find(({ transactionHash }) => transactionHash === hash),
      streams.full.heard.find((transaction) => transaction.hash === hash),
    ]
    return messages.every(Boolean) && streams.hashes.heard.includes(hash) && messages
  })
  assert.equal(pendingLog.removed, false)
  assert.equal(full.status, '0x1')
  assert.deepEqual(full.logs, [pendingLog])
  const log = await waitFor('log', () => streams.logs.heard.find(({ transactionHash }) => transactionHash === hash))
  assert.equal(log.blockNumber, pendingLog.blockNumber)
  const head = await waitFor('head', () => streams.heads.heard.find(({ number }) => number === log.blockNumber))
  assert.equal(head.hash, log.blockHash)

  await undoFrom(Number(log.blockNumber))
  await waitFor('undone log', () => streams.logs.heard.some((told) => told.removed && told.transactionHash === hash))
  await waitFor('undone pre-confirmed log', () =>
    streams.pendingLogs.heard.some((told) => told.removed && told.transactionHash === hash),
  )
  await waitFor('undone transaction', () => streams.hashes.heard.some((told) => told.removed && told.hash === hash))
  await waitFor('undone full transaction', () => streams.full.heard.some((told) => told.removed && told.hash === hash))
  await waitFor('head in its place', () =>
    streams.heads.heard.some(({ number, hash }) => number === head.number && hash !== head.hash),
  )
}
