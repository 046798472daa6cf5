// The bundler alto as a process of its own.
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { sleep, url } from '../javascript/flows.mjs'

const PROGRAM = fileURLToPath(new URL('node_modules/@pimlico/alto/esm/cli/alto.js', import.meta.url))
// It loads 360 packages and deploys four contracts. On a busy machine, that takes minutes.
const START_MS = 600_000

/** Starts alto, which ends with this process; returns its URL once it serves. */
export async function startBundler({ entryPoint, executorKey, utilityKey }) {
  const port = await freePort()
  const options = {
    entrypoints: entryPoint,
    'rpc-url': url,
    port,
    'executor-private-keys': executorKey,
    // The utility account deploys the contracts by which alto simulates.
    'utility-private-key': utilityKey,
    // Its rules need a tracer in JavaScript, which neither the node nor anvil has.
    'safe-mode': false,
    'log-level': 'warn',
  }
  const given = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  const process_ = spawn(process.execPath, [PROGRAM, ...given], { stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [process_.stdout, process_.stderr]) {
    stream.on('data', (data) => {
      log = (log + data).slice(-2000)
      process.stderr.write(data)
    })
  }
  process.once('exit', () => process_.kill('SIGKILL'))
  const bundler = `http://127.0.0.1:${port}`
  const deadline = Date.now() + START_MS
  while (!(await isHealthy(bundler))) {
    if (process_.exitCode !== null) throw new Error(`alto ended with ${process_.exitCode}: ${log.slice(-300)}`)
    if (Date.now() > deadline) throw new Error(`alto does not serve: ${log.slice(-300)}`)
    await sleep(200)
  }
  return bundler
}

async function isHealthy(bundler) {
  try {
    return (await fetch(`${bundler}/health`)).ok
  } catch {
    return false
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}
