// Rounds of the flows that each library runs, and their output: one line of JSON per round.
import { readFileSync } from 'node:fs'

const { FORESEAL_URL, LIBRARY_SOCKET_URL, FORESEAL_KEY, LIBRARY_SPENDER_KEY, LIBRARY_CONTRACTS } = process.env
export const url = FORESEAL_URL
export const socketUrl = LIBRARY_SOCKET_URL
export const key = FORESEAL_KEY
export const spenderKey = LIBRARY_SPENDER_KEY

// Blocks during which events are watched.
const WATCHED_BLOCKS = Number(process.env.LIBRARY_WATCHED_BLOCKS)
const ROUNDS = Number(process.env.LIBRARY_ROUNDS)
const BLOCK_MS = Number(process.env.LIBRARY_BLOCK_MS)
const ROUND_MS = Number(process.env.LIBRARY_ROUND_MS)
/** Longer than the longest default of a polling interval, 4 s. */
export const POLL_MS = 5000
// Longest pause between two events. ethers 5 hears those of at most ten blocks in each poll.
const EVENT_MS = 2000
const LATE_MS = 20_000

export const board = contract('Board')
export const token = contract('Token')

function contract(name) {
  return JSON.parse(readFileSync(`${LIBRARY_CONTRACTS}/${name}.json`, 'utf8'))
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Polls until the result of `poll` is true. */
export async function until(poll) {
  while (!(await poll())) await sleep(100)
}

// mulberry32
let state = Number(process.env.FORESEAL_SEED) >>> 0
export function random() {
  state = (state + 0x6d2b79f5) >>> 0
  let t = Math.imul(state ^ (state >>> 15), state | 1)
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

export function equal(got, expected, what) {
  if (String(got) !== String(expected)) throw new Error(`${what} is ${got}, expected ${expected}`)
}

/**
 * Runs the requested flows: `flows[name]` is a function that prepares a flow and returns its rounds. A function is one
 * round that is repeated; a list is one round each.
 */
export async function run(flows) {
  for (const flow of process.env.LIBRARY_FLOWS.split(',')) {
    let rounds
    try {
      rounds = await flows[flow]()
    } catch (error) {
      report(flow, 0, error)
      continue
    }
    if (!Array.isArray(rounds)) rounds = Array(ROUNDS).fill(rounds)
    for (const [index, round] of rounds.entries()) {
      await sleep(random() * BLOCK_MS)
      try {
        await Promise.race([round(), sleep(ROUND_MS).then(() => Promise.reject(new Error('the round did not end')))])
        report(flow, index + 1)
      } catch (error) {
        report(flow, index + 1, error)
      }
    }
  }
  process.exit(0)
}

function report(flow, round, error) {
  const text = error && `${error.shortMessage ?? error.message ?? error}`.replace(/\s+/g, ' ').slice(0, 400)
  console.log(JSON.stringify({ flow, round, ok: !error, error: text ?? null }))
}

/**
 * Sends transactions with one event each until `newest` has passed enough blocks; checks that `heard`, a list of
 * transaction hashes, then has each once.
 */
export async function watchEvents(newest, send, heard) {
  const end = (await newest()) + WATCHED_BLOCKS
  const sent = []
  do {
    sent.push(await send(sent.length))
    await sleep(random() * EVENT_MS)
  } while ((await newest()) < end)
  const deadline = Date.now() + LATE_MS
  while (!sent.every((hash) => heard.includes(hash)) && Date.now() < deadline) await sleep(100)
  await sleep(POLL_MS)
  const lost = sent.filter((hash) => !heard.includes(hash)).length
  const repeated = heard.length - new Set(heard).size
  if (lost || repeated) throw new Error(`of ${sent.length} events ${lost} lost and ${repeated} heard again`)
}
