// Compiles the payment contracts: `node compile.mjs SOURCES OUT` writes one JSON file per deployable contract.
//
// `make contracts` runs it for the package, tests/integration/payments/contracts/test_compiled.py to check for equal
// bytes. The output depends only on the sources and the settings below: there is no metadata hash.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import solc from 'solc'

const PACKAGES = fileURLToPath(new URL('node_modules', import.meta.url))
const SETTINGS = {
  evmVersion: 'cancun',
  optimizer: { enabled: true, runs: 2000 },
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
}
const WANTED = ['abi', 'evm.bytecode.object', 'evm.deployedBytecode', 'storageLayout']

const read = (path) => readFileSync(path, 'utf8')
const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** Returns every source below a folder, by its path within it. */
function ownSources(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.sol'))
  return Object.fromEntries(names.sort().map((name) => [name, { content: read(join(folder, name)) }]))
}

function compile(folder) {
  const outputSelection = { '*': { '*': WANTED, '': ['ast'] } }
  const input = { language: 'Solidity', sources: ownSources(folder), settings: { ...SETTINGS, outputSelection } }
  const imported = (path) =>
    existsSync(join(PACKAGES, path)) ? { contents: read(join(PACKAGES, path)) } : { error: `${path} is not installed` }
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: imported }))
  // Warnings in OpenZeppelin's sources are ignored.
  const errors = (output.errors ?? []).filter(({ severity, sourceLocation }) =>
    severity === 'error' || !sourceLocation?.file.startsWith('@'))
  if (errors.length) throw new Error(errors.map((error) => error.formattedMessage).join('\n'))
  return output
}

/** Returns every node of the syntax trees, by its ID. */
function nodesById(sources) {
  const nodes = new Map()
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return
    if (typeof node.nodeType === 'string') nodes.set(node.id, node)
    Object.values(node).forEach(visit)
  }
  Object.values(sources).forEach(({ ast }) => visit(ast))
  return nodes
}

/** Returns the sources of a contract: its own file and all of its imports. */
function closure(file, sources, seen = new Set()) {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const node of sources[file].ast.nodes) {
    if (node.nodeType === 'ImportDirective') closure(node.absolutePath, sources, seen)
  }
  return seen
}

/** Returns the offsets of each immutable in the runtime code, by the variable's name: 32 bytes each. */
function immutables(references, nodes) {
  const named = Object.entries(references ?? {}).map(([id, places]) => [
    nodes.get(Number(id)).name,
    places.map(({ start }) => start).sort((left, right) => left - right),
  ])
  return Object.fromEntries(named.sort())
}

/** Returns the kind of a name: contract, library or interface. */
const kind = (ast, name) =>
  ast.nodes.find((node) => node.nodeType === 'ContractDefinition' && node.name === name).contractKind

/** Returns the storage variables, with the names of their types instead of the compiler's type IDs. */
const storage = ({ storage: variables, types }) =>
  (variables ?? []).map(({ label, slot, offset, type }) =>
    ({ label, slot: Number(slot), offset, type: types[type].label, bytes: Number(types[type].numberOfBytes) }))

function artifact(file, name, output, folder, nodes) {
  const { abi, evm, storageLayout } = output.contracts[file][name]
  const used = [...closure(file, output.sources)].sort()
  const text = (path) => read(path.startsWith('@') ? join(PACKAGES, path) : join(folder, path))
  return {
    contract: name,
    source: file,
    compiler: { name: 'solc', version: solc.version(), settings: SETTINGS },
    sources: Object.fromEntries(used.map((path) => [path, sha256(text(path))])),
    bytecode: `0x${evm.bytecode.object}`,
    runtime: `0x${evm.deployedBytecode.object}`,
    immutables: immutables(evm.deployedBytecode.immutableReferences, nodes),
    storage: storage(storageLayout),
    abi,
  }
}

const [folder, out] = process.argv.slice(2)
const output = compile(folder)
const nodes = nodesById(output.sources)
mkdirSync(out, { recursive: true })
for (const [file, contracts] of Object.entries(output.contracts)) {
  if (file.startsWith('@')) continue
  for (const [name, { evm }] of Object.entries(contracts)) {
    // Interfaces and abstract contracts have no code, libraries are part of the contracts that use them.
    if (!evm.bytecode.object || kind(output.sources[file].ast, name) !== 'contract') continue
    const path = join(out, `${name}.json`)
    writeFileSync(path, `${JSON.stringify(artifact(file, name, output, folder, nodes), null, 1)}\n`)
    console.log(`${relative(process.cwd(), path)} ${(evm.deployedBytecode.object.length / 2)} bytes`)
  }
}
