// ethers 6
import { Contract, ContractFactory, JsonRpcProvider, Wallet, WebSocketProvider } from 'ethers'
import { board, equal, key, POLL_MS, run, sleep, socketUrl, spenderKey, token, until, url, watchEvents } from './flows.mjs'
import { named, watchRestart } from './restart.mjs'

// The default cache of 250 ms gives the nonce of a transaction to the next one: findings/ethers-cached-nonce.sh
const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1 })
const wallet = new Wallet(key, provider)

async function deployed({ abi, bytecode }, ...args) {
  const contract = await new ContractFactory(abi, bytecode, wallet).deploy(...args)
  return contract.waitForDeployment()
}

/** Waits until the newest block that the library reads has the contract. */
async function prepared(artifact, ...args) {
  const contract = await deployed(artifact, ...args)
  await until(async () => (await provider.getCode(contract.target)) !== '0x')
  return contract
}

await run({
  deploy: () => async () => {
    const contract = await deployed(board, 7)
    equal(await contract.value(), 7, 'value after deployment')
    await (await contract.set(8, 'a note')).wait()
    equal(await contract.value(), 8, 'value after the write')
  },

  allowance: async () => {
    const owned = await prepared(token, 10n ** 12n)
    const spender = new Wallet(spenderKey, provider)
    return async () => {
      const to = Wallet.createRandom().address
      await (await owned.approve(spender.address, 5)).wait()
      await (await owned.connect(spender).transferFrom(wallet.address, to, 5)).wait()
      equal(await owned.balanceOf(to), 5, 'token balance')
    }
  },

  transfer: () => async () => {
    const to = Wallet.createRandom().address
    const receipt = await (await wallet.sendTransaction({ to, value: 7n })).wait()
    equal(await provider.getBalance(to), 7, 'balance')
    const block = await provider.getBlock(receipt.blockNumber)
    equal(block?.transactions.includes(receipt.hash), true, 'transaction in the block of the receipt')
  },

  confirmations: () =>
    [1, 2].map((confirmations) => async () => {
      const sent = await wallet.sendTransaction({ to: wallet.address })
      const receipt = await sent.wait(confirmations)
      const found = (await provider.getBlockNumber()) - receipt.blockNumber + 1
      if (confirmations > 1 && found < confirmations) throw new Error(`${found} confirmations`)
    }),

  replacement: () => [
    async () => {
      const base = (await provider.getBlock('latest')).baseFeePerGas
      const to = Wallet.createRandom().address
      const waiting = { to, value: 1n, gasLimit: 21000n, maxFeePerGas: base / 64n, maxPriorityFeePerGas: 0n }
      const first = await wallet.sendTransaction(waiting)
      const replaced = first.wait().then(
        () => 'mined',
        (error) => `${error.code} ${error.reason ?? ''}`,
      )
      await sleep(2 * POLL_MS)
      const paid = { maxFeePerGas: base * 2n + 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n }
      const second = await wallet.sendTransaction({ ...waiting, ...paid, nonce: first.nonce })
      equal((await second.wait()).hash, second.hash, 'hash of the receipt')
      equal(await replaced, 'TRANSACTION_REPLACED repriced', 'the wait for the replaced transaction')
    },
  ],

  events: async () => {
    const contract = await prepared(board, 7)
    return [
      async () => {
        const heard = []
        await contract.on('ValueSet', (...args) => heard.push(args.at(-1).log.transactionHash))
        const send = async (index) => (await contract.set(index, 'event', { gasLimit: 100_000n })).hash
        await watchEvents(() => provider.getBlockNumber(), send, heard)
      },
    ]
  },

  restart: async () => {
    const contract = await prepared(board, 7)
    const watched = (listener) => async () => {
      const heard = []
      const streamed = new Contract(contract.target, board.abi, listener())
      await streamed.on('ValueSet', (...args) => heard.push(args.at(-1).log.transactionHash))
      await watchRestart(async (index) => (await contract.set(index, 'event', { gasLimit: 100_000n })).hash, heard)
    }
    const socket = () => new WebSocketProvider(socketUrl)
    return [named('polling', watched(() => provider)), named('WebSocket', watched(socket))]
  },
})
