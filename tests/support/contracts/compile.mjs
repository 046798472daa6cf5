// Compiles the contracts of this folder; run manually after a change to one, never by the tests:
//
//     npm install --no-save solc@0.8.37 && node compile.mjs
//
// The tests deploy the JSON files that it writes; tests/test_contracts.py detects outdated ones.
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import solc from 'solc'

const settings = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 200 },
  // Without a metadata hash the code depends only on the source and these settings.
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
}

for (const file of readdirSync('.').filter((name) => name.endsWith('.sol'))) {
  const name = file.slice(0, -'.sol'.length)
  const content = readFileSync(file, 'utf8')
  const outputSelection = { '*': { '*': ['abi', 'evm.bytecode.object'] } }
  const input = { language: 'Solidity', sources: { [file]: { content } }, settings: { ...settings, outputSelection } }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  if (output.errors) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  const { abi, evm } = output.contracts[file][name]
  const artefact = {
    contract: name,
    source: { file, sha256: createHash('sha256').update(content).digest('hex') },
    compiler: { name: 'solc', version: solc.version(), settings },
    bytecode: `0x${evm.bytecode.object}`,
    abi,
  }
  writeFileSync(`${name}.json`, lines(artefact))
}

/** Returns JSON with one line for each member of an object, and for each item of an array in it. */
function lines(object) {
  const items = (array) => `[\n${array.map((item) => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`
  const members = Object.entries(object).map(
    ([name, value]) => `  "${name}": ${Array.isArray(value) ? items(value) : JSON.stringify(value)}`,
  )
  return `{\n${members.join(',\n')}\n}\n`
}
