// hardhat 3
import { buildModule } from '@nomicfoundation/hardhat-ignition/modules'
import { network } from 'hardhat'
import { runHardhat } from '../javascript/hardhat.mjs'

const { ethers, ignition, networkHelpers, provider } = await network.connect()
const request = (call) => provider.request(call)
await runHardhat(buildModule, { ethers, ignition, networkHelpers, request })
