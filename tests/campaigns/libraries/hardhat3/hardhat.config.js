import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import hardhatEthers from '@nomicfoundation/hardhat-ethers'
import hardhatIgnitionEthers from '@nomicfoundation/hardhat-ignition-ethers'
import hardhatNetworkHelpers from '@nomicfoundation/hardhat-network-helpers'

// Ignition saves deployments by chain ID, and all development chains have the same one.
const ignition = mkdtempSync(join(tmpdir(), 'ignition-'))

export default {
  paths: { ignition },
  plugins: [hardhatEthers, hardhatIgnitionEthers, hardhatNetworkHelpers],
  networks: {
    foreseal: {
      type: 'http',
      chainType: 'l1',
      url: process.env.FORESEAL_URL,
      // An impersonated account has no key here, so the node signs for the network helpers.
      accounts:
        process.env.LIBRARY_FLOWS === 'helpers'
          ? 'remote'
          : [process.env.FORESEAL_KEY, process.env.LIBRARY_SPENDER_KEY],
    },
  },
}
