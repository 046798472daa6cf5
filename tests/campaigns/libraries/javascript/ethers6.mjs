// ethers 6
import { Contract, ContractFactory, JsonRpcProvider, Wallet, WebSocketProvider } from 'ethers'
import { ethersFlows } from './ethers_flows.mjs'
import { run, socketUrl, url } from './flows.mjs'

const version = {
  // The default cache of 250 ms gives the nonce of a transaction to the next one: findings/ethers-cached-nonce.sh
  provider: new JsonRpcProvider(url, undefined, { cacheTimeout: -1 }),
  socket: () => new WebSocketProvider(socketUrl),
  deployedContract: (contract) => contract.waitForDeployment(),
  addressOf: (contract) => contract.target,
  receiptHash: (receipt) => receipt.hash,
  eventHash: (event) => event.log.transactionHash,
  listening: () => undefined,
}

await run(ethersFlows({ Contract, ContractFactory, Wallet }, version))
