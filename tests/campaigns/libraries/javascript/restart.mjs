// A restart of the node while events are watched.
import { existsSync, writeFileSync } from 'node:fs'
import { sleep } from './flows.mjs'

const FILE = process.env.LIBRARY_RESTART
// Longer than the pauses of the libraries before they connect again.
const RECONNECT_MS = 15_000
const LATE_MS = 15_000

/** Restarts the node, and waits until it is ready. */
async function restartNode() {
  writeFileSync(FILE, '')
  while (existsSync(FILE)) await sleep(50)
}

/**
 * Sends one transaction with an event before a restart of the node, one right after it, and two later; checks that
 * `heard`, a list of transaction hashes, then has each once. `send` returns the hash of a submitted transaction.
 */
export async function watchRestart(send, heard) {
  const ended = new Promise((_, reject) => {
    for (const event of ['uncaughtException', 'unhandledRejection'])
      process.once(event, (error) => reject(new Error(`error outside of any call: ${error.message ?? error}`)))
  })
  await Promise.race([ended, watched(send, heard)])
}

async function watched(send, heard) {
  const sent = { before: [], 'right after': [], later: [] }
  let count = 0
  const sendAt = async (stage) => {
    try {
      sent[stage].push(await send(count++))
    } catch (error) {
      throw new Error(`transaction ${stage} the restart: ${error.shortMessage ?? error.message}`)
    }
  }
  const listen = async () => {
    const deadline = Date.now() + LATE_MS
    const isMissing = (hash) => !heard.includes(hash)
    while (Object.values(sent).flat().some(isMissing) && Date.now() < deadline) await sleep(100)
  }
  await sendAt('before')
  await listen()
  await restartNode()
  await sendAt('right after')
  await sleep(RECONNECT_MS)
  await sendAt('later')
  await sendAt('later')
  await listen()
  const counts = Object.entries(sent).map(([stage, hashes]) => {
    return `${hashes.filter((hash) => heard.includes(hash)).length} of ${hashes.length} ${stage}`
  })
  const repeated = heard.length - new Set(heard).size
  const all = Object.values(sent).flat()
  if (repeated || !all.every((hash) => heard.includes(hash)))
    throw new Error(`heard ${counts.join(', ')}, and ${repeated} again`)
}

/** Names a round in its error: how it watches. */
export const named = (name, round) => async () => {
  try {
    await round()
  } catch (error) {
    throw new Error(`${name}: ${error.shortMessage ?? error.message}`)
  }
}
