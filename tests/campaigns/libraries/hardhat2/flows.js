// hardhat 2
const { buildModule } = require('@nomicfoundation/hardhat-ignition/modules')
const networkHelpers = require('@nomicfoundation/hardhat-network-helpers')
const { ethers, ignition, network } = require('hardhat')

async function main() {
  const { runHardhat } = await import('../javascript/hardhat.mjs')
  const request = (call) => network.provider.request(call)
  await runHardhat(buildModule, { ethers, ignition, networkHelpers, request })
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
