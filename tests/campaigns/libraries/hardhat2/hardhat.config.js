const { mkdtempSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
require('@nomicfoundation/hardhat-ignition-ethers')

// Ignition saves deployments by chain ID, and all development chains have the same one.
const ignition = mkdtempSync(join(tmpdir(), 'ignition-'))

module.exports = {
  paths: { ignition },
  solidity: '0.8.28',
  networks: {
    foreseal: {
      url: process.env.FORESEAL_URL,
      // An impersonated account has no key here, so the node signs for the network helpers.
      accounts:
        process.env.LIBRARY_FLOWS === 'helpers'
          ? 'remote'
          : [process.env.FORESEAL_KEY, process.env.LIBRARY_SPENDER_KEY],
    },
  },
}
