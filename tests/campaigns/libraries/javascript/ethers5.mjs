// ethers 5
import { Contract, ContractFactory, Wallet, providers } from 'ethers5'
import { board, equal, key, POLL_MS, run, sleep, socketUrl, spenderKey, token, until, url, watchEvents } from './flows.mjs'
import { named, watchRestart } from './restart.mjs'

const provider = new providers.JsonRpcProvider(url)
const wallet = new Wallet(key, provider)

async function deployed({ abi, bytecode }, ...args) {
  return (await new ContractFactory(abi, bytecode, wallet).deploy(...args)).deployed()
}

/** Waits until the newest block that the library reads has the contract. */
async function prepared(artifact, ...args) {
  const contract = await deployed(artifact, ...args)
  await until(async () => (await provider.getCode(contract.address)) !== '0x')
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
    const owned = await prepared(token, 1e12)
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
    const receipt = await (await wallet.sendTransaction({ to, value: 7 })).wait()
    equal(await provider.getBalance(to), 7, 'balance')
    const block = await provider.getBlock(receipt.blockNumber)
    equal(block?.transactions.includes(receipt.transactionHash), true, 'transaction in the block of the receipt')
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
      const waiting = { to, value: 1, gasLimit: 21000, maxFeePerGas: base.div(64), maxPriorityFeePerGas: 0 }
      const first = await wallet.sendTransaction(waiting)
      const replaced = first.wait().then(
        () => 'mined',
        (error) => `${error.code} ${error.reason ?? ''}`,
      )
      await sleep(2 * POLL_MS)
      const paid = { maxFeePerGas: base.mul(2).add(1e9), maxPriorityFeePerGas: 1e9 }
      const second = await wallet.sendTransaction({ ...waiting, ...paid, nonce: first.nonce })
      equal((await second.wait()).transactionHash, second.hash, 'hash of the receipt')
      equal(await replaced, 'TRANSACTION_REPLACED repriced', 'the wait for the replaced transaction')
    },
  ],

  events: async () => {
    const contract = await prepared(board, 7)
    return [
      async () => {
        const heard = []
        contract.on('ValueSet', (...args) => heard.push(args.at(-1).transactionHash))
        // Events before its first poll are not heard.
        await sleep(2 * POLL_MS)
        const send = async (index) => (await contract.set(index, 'event', { gasLimit: 100_000 })).hash
        await watchEvents(() => provider.getBlockNumber(), send, heard)
      },
    ]
  },

  restart: async () => {
    const contract = await prepared(board, 7)
    const watched = (listener) => async () => {
      const heard = []
      new Contract(contract.address, board.abi, listener()).on('ValueSet', (...args) =>
        heard.push(args.at(-1).transactionHash),
      )
      // Events before its first poll are not heard.
      await sleep(2 * POLL_MS)
      await watchRestart(async (index) => (await contract.set(index, 'event', { gasLimit: 100_000 })).hash, heard)
    }
    const socket = () => new providers.WebSocketProvider(socketUrl)
    return [named('polling', watched(() => provider)), named('WebSocket', watched(socket))]
  },
})
