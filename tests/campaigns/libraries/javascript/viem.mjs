// viem
import { createPublicClient, createWalletClient, http, webSocket } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { board, equal, key, POLL_MS, run, sleep, socketUrl, spenderKey, token, until, url, watchEvents } from './flows.mjs'
import { named, watchRestart } from './restart.mjs'

const transport = http(url)
const client = createPublicClient({ chain: foundry, transport })
const account = privateKeyToAccount(key)
const wallet = createWalletClient({ account, chain: foundry, transport })

const stranger = () => privateKeyToAccount(generatePrivateKey()).address

async function mined(hash, options = {}) {
  const receipt = await client.waitForTransactionReceipt({ hash, ...options })
  equal(receipt.status, 'success', 'status')
  return receipt
}

async function deployed({ abi, bytecode }, args) {
  const hash = await wallet.deployContract({ abi, bytecode, args })
  const { contractAddress } = await mined(hash)
  return { abi, address: contractAddress }
}

/** Waits until the newest block that the library reads has the contract. */
async function prepared(artifact, args) {
  const contract = await deployed(artifact, args)
  await until(() => client.getCode(contract))
  return contract
}

await run({
  deploy: () => async () => {
    const contract = await deployed(board, [7n])
    equal(await client.readContract({ ...contract, functionName: 'value' }), 7, 'value after deployment')
    await mined(await wallet.writeContract({ ...contract, functionName: 'set', args: [8n, 'a note'] }))
    equal(await client.readContract({ ...contract, functionName: 'value' }), 8, 'value after the write')
  },

  allowance: async () => {
    const contract = await prepared(token, [10n ** 12n])
    const spender = createWalletClient({ account: privateKeyToAccount(spenderKey), chain: foundry, transport })
    return async () => {
      const to = stranger()
      const approval = { ...contract, functionName: 'approve', args: [spender.account.address, 5n] }
      await mined(await wallet.writeContract(approval))
      const spending = { ...contract, functionName: 'transferFrom', args: [account.address, to, 5n] }
      await mined(await spender.writeContract(spending))
      equal(await client.readContract({ ...contract, functionName: 'balanceOf', args: [to] }), 5, 'token balance')
    }
  },

  transfer: () => async () => {
    const to = stranger()
    const receipt = await mined(await wallet.sendTransaction({ to, value: 7n }))
    equal(await client.getBalance({ address: to }), 7, 'balance')
    const block = await client.getBlock({ blockNumber: receipt.blockNumber })
    equal(block.transactions.includes(receipt.transactionHash), true, 'transaction in the block of the receipt')
  },

  confirmations: () =>
    [1, 2].map((confirmations) => async () => {
      const receipt = await mined(await wallet.sendTransaction({ to: account.address }), { confirmations })
      const depth = (await client.getBlockNumber({ cacheTime: 0 })) - receipt.blockNumber + 1n
      if (confirmations > 1 && depth < confirmations) throw new Error(`${depth} confirmations`)
    }),

  replacement: () => [
    async () => {
      const base = (await client.getBlock()).baseFeePerGas
      const nonce = await client.getTransactionCount({ address: account.address, blockTag: 'pending' })
      const waiting = { to: stranger(), value: 1n, gas: 21000n, nonce }
      const first = await wallet.sendTransaction({ ...waiting, maxFeePerGas: base / 64n, maxPriorityFeePerGas: 0n })
      let reason = 'not replaced'
      const onReplaced = (replacement) => (reason = replacement.reason)
      const replaced = client.waitForTransactionReceipt({ hash: first, onReplaced })
      await sleep(2 * POLL_MS)
      const paid = { maxFeePerGas: base * 2n + 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n }
      const second = await wallet.sendTransaction({ ...waiting, ...paid })
      equal((await mined(second)).transactionHash, second, 'hash of the receipt')
      equal((await replaced).transactionHash, second, 'hash of the receipt of the replaced transaction')
      equal(reason, 'repriced', 'reason')
    },
  ],

  events: async () => {
    const contract = await prepared(board, [7n])
    return [
      async () => {
        const heard = []
        const onLogs = (logs) => heard.push(...logs.map((log) => log.transactionHash))
        client.watchContractEvent({ ...contract, eventName: 'ValueSet', onLogs })
        const send = (index) =>
          wallet.writeContract({ ...contract, functionName: 'set', args: [BigInt(index), 'event'], gas: 100_000n })
        await watchEvents(async () => Number(await client.getBlockNumber({ cacheTime: 0 })), send, heard)
      },
    ]
  },

  restart: async () => {
    const contract = await prepared(board, [7n])
    const watched = (listener) => async () => {
      const heard = []
      const onLogs = (logs) => heard.push(...logs.map((log) => log.transactionHash))
      // Without `onError`, an error of the watch ends it silently.
      listener().watchContractEvent({ ...contract, eventName: 'ValueSet', onLogs })
      // Events before its first poll, or before its subscription, are not heard.
      await sleep(POLL_MS)
      const send = (index) =>
        wallet.writeContract({ ...contract, functionName: 'set', args: [BigInt(index), 'event'], gas: 100_000n })
      await watchRestart(send, heard)
    }
    const socket = () => createPublicClient({ chain: foundry, transport: webSocket(socketUrl) })
    return [named('polling', watched(() => client)), named('WebSocket', watched(socket))]
  },
})
