// The bundler alto as a process of its own.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { url } from '../javascript/flows.mjs'

const PROGRAM = fileURLToPath(new URL('node_modules/@pimlico/alto/esm/cli/alto.js', import.meta.url))
const LISTENING = /Server listening at http:\/\/[\d.]+:(\d+)/
// It loads 360 packages and deploys four contracts. On a busy machine, that takes minutes.
const START_MS = 600_000

/** Starts alto, which ends with this process; returns its URL once it serves. */
export async function startBundler({ entryPoint, executorKey, utilityKey }) {
  const options = {
    entrypoints: entryPoint,
    'rpc-url': url,
    port: 0,
    'executor-private-keys': executorKey,
    // The utility account deploys the contracts by which alto simulates.
    'utility-private-key': utilityKey,
    // Safe mode needs a tracer in JavaScript, which the node does not have. On anvil, alto cannot read its result.
    'safe-mode': false,
    json: true,
    'log-level': 'warn',
    // The level of the line with the port.
    'rpc-log-level': 'info',
  }
  const given = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
  const alto = spawn(process.execPath, [PROGRAM, ...given], { stdio: ['ignore', 'pipe', 'pipe'] })
  process.once('exit', () => alto.kill('SIGKILL'))
  const port = await new Promise((resolve, reject) => {
    let log = ''
    const fail = (reason) => reject(new Error(`alto ${reason}: ${withoutFrames(log).slice(-300)}`))
    setTimeout(() => fail('does not serve'), START_MS).unref()
    alto.once('error', reject)
    alto.once('close', (code) => fail(`ended with ${code}`))
    for (const stream of [alto.stdout, alto.stderr]) {
      stream.on('data', (data) => {
        log = (log + data).slice(-2000)
        const match = LISTENING.exec(log)
        if (match) resolve(match[1])
      })
    }
  })
  return `http://127.0.0.1:${port}`
}

/** Returns a log without the frames of stack traces, which have paths of this machine. */
const withoutFrames = (log) => log.split('\n').filter((line) => !/^\s*at /.test(line)).join(' ')
