// ethers 5
import { Contract, ContractFactory, Wallet, providers } from 'ethers5'
import { ethersFlows } from './ethers_flows.mjs'
import { POLL_MS, run, sleep, socketUrl, url } from './flows.mjs'

const version = {
  provider: new providers.JsonRpcProvider(url),
  socket: () => new providers.WebSocketProvider(socketUrl),
  deployedContract: (contract) => contract.deployed(),
  addressOf: (contract) => contract.address,
  receiptHash: (receipt) => receipt.transactionHash,
  eventHash: (event) => event.transactionHash,
  // Events before its first poll are not heard.
  listening: () => sleep(2 * POLL_MS),
}

await run(ethersFlows({ Contract, ContractFactory, Wallet }, version))
