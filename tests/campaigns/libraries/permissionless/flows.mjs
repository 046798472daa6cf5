// permissionless with the bundler alto: user operations of accounts that are contracts
import { createSmartAccountClient } from 'permissionless'
import { toSimpleSmartAccount } from 'permissionless/accounts'
import { createPimlicoClient } from 'permissionless/clients/pimlico'
import { createPublicClient, createWalletClient, encodeFunctionData, http, parseEther } from 'viem'
import { entryPoint07Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { board, equal, key, run, token, until, url } from '../javascript/flows.mjs'
import { startBundler } from './bundler.mjs'
import { deployEntryPoint } from './contracts.mjs'

const transport = http(url)
const client = createPublicClient({ chain: foundry, transport })
const funder = privateKeyToAccount(key)
const wallet = createWalletClient({ account: funder, chain: foundry, transport })

const stranger = () => privateKeyToAccount(generatePrivateKey()).address

/** Waits for the receipt of a transaction, and until the newest block has its effect. */
async function prepared(hash, isVisible) {
  const receipt = await client.waitForTransactionReceipt({ hash })
  equal(receipt.status, 'success', 'status')
  await until(isVisible)
  return receipt
}

async function fund(address) {
  const hash = await wallet.sendTransaction({ to: address, value: parseEther('10') })
  await prepared(hash, () => client.getBalance({ address }))
}

async function deployed({ abi, bytecode }, args) {
  const hash = await wallet.deployContract({ abi, bytecode, args })
  const { contractAddress: address } = await client.waitForTransactionReceipt({ hash })
  await until(() => client.getCode({ address }))
  return { abi, address }
}

/** Starts alto, and returns how to create accounts that send user operations by it. */
async function accounts() {
  await deployEntryPoint(client, wallet)
  const executorKey = generatePrivateKey()
  await fund(privateKeyToAccount(executorKey).address)
  const bundler = http(await startBundler({ entryPoint: entryPoint07Address, executorKey, utilityKey: key }))
  const pimlico = createPimlicoClient({ chain: foundry, transport: bundler })
  const userOperation = { estimateFeesPerGas: async () => (await pimlico.getUserOperationGasPrice()).fast }

  /** Returns a client of a new account with a balance. Its first user operation deploys it. */
  return async () => {
    const account = await toSimpleSmartAccount({ client, owner: privateKeyToAccount(generatePrivateKey()) })
    await fund(account.address)
    return createSmartAccountClient({ account, chain: foundry, client, bundlerTransport: bundler, userOperation })
  }
}

/** Sends a user operation, waits, and returns its receipt. */
async function included(sender, ...calls) {
  const hash = await sender.sendUserOperation({ calls })
  const receipt = await sender.waitForUserOperationReceipt({ hash })
  equal(receipt.success, true, 'success')
  return receipt
}

const called = ({ abi, address }, functionName, ...args) => ({
  to: address,
  data: encodeFunctionData({ abi, functionName, args }),
})

await run({
  // One user operation deploys the account and writes; the next one writes.
  deploy: async () => {
    const create = await accounts()
    return async () => {
      const contract = await deployed(board, [7n])
      const sender = await create()
      await included(sender, called(contract, 'set', 8n, 'a note'))
      equal(Boolean(await client.getCode({ address: sender.account.address })), true, 'existence of the account')
      equal(await client.readContract({ ...contract, functionName: 'value' }), 8, 'value after the first operation')
      await included(sender, called(contract, 'set', 9n, 'a note'))
      equal(await client.readContract({ ...contract, functionName: 'value' }), 9, 'value after the second operation')
    }
  },

  // Two accounts: the second one spends what the first one approves.
  allowance: async () => {
    const create = await accounts()
    const contract = await deployed(token, [10n ** 12n])
    const balanceOf = (address) => client.readContract({ ...contract, functionName: 'balanceOf', args: [address] })
    const [owner, spender] = [await create(), await create()]
    const from = owner.account.address
    const funding = await wallet.writeContract({ ...contract, functionName: 'transfer', args: [from, 10n ** 9n] })
    await prepared(funding, () => balanceOf(from))
    return async () => {
      const to = stranger()
      await included(owner, called(contract, 'approve', spender.account.address, 5n))
      await included(spender, called(contract, 'transferFrom', from, to, 5n))
      equal(await balanceOf(to), 5, 'token balance')
    }
  },

  // Two transfers, the second one right after the receipt of the first one.
  transfer: async () => {
    const sender = await (await accounts())()
    return async () => {
      const to = stranger()
      await included(sender, { to, value: 7n })
      equal(await client.getBalance({ address: to }), 7, 'balance')
      const { receipt } = await included(sender, { to, value: 4n })
      equal(await client.getBalance({ address: to }), 11, 'balance after the second transfer')
      const block = await client.getBlock({ blockNumber: receipt.blockNumber })
      equal(block.transactions.includes(receipt.transactionHash), true, 'transaction in the block of the receipt')
    }
  },
})
