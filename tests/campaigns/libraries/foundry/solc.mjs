#!/usr/bin/env node
// A Solidity compiler for forge without a download: solc of npm behind the options that forge uses.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
if (process.argv.includes('--version')) {
  console.log('solc, the solidity compiler commandline interface')
  // forge runs this often; the compiler itself takes long to load. The commit is not read.
  console.log(`Version: ${require('solc/package.json').version}+commit.00000000.Linux.g++`)
} else {
  process.stdout.write(require('solc').compile(readFileSync(0, 'utf8')))
}
