// Flows of ethers 5 and 6
import { board, equal, key, POLL_MS, sleep, spenderKey, token, until, watchEvents } from './flows.mjs'
import { named, watchRestart } from './restart.mjs'

const GWEI = 10n ** 9n

/**
 * Returns the flows of a version of ethers. `ethers` has its classes, and `version` what differs: the provider, a
 * function that opens a provider over a WebSocket, and functions that return a contract once it is deployed, the
 * address of a contract, the transactions of a receipt and of an event, and that wait until a listener is active.
 */
export function ethersFlows({ Contract, ContractFactory, Wallet }, version) {
  const { provider, socket, deployedContract, addressOf, receiptHash, eventHash, listening } = version
  const wallet = new Wallet(key, provider)

  async function deployed({ abi, bytecode }, ...args) {
    return deployedContract(await new ContractFactory(abi, bytecode, wallet).deploy(...args))
  }

  /** Waits until the newest block that the library reads has the contract. */
  async function prepared(artifact, ...args) {
    const contract = await deployed(artifact, ...args)
    await until(async () => (await provider.getCode(addressOf(contract))) !== '0x')
    return contract
  }

  /** Returns a list to which the transactions of the events of `contract` are added. */
  async function heardBy(contract) {
    const heard = []
    await contract.on('ValueSet', (...args) => heard.push(eventHash(args.at(-1))))
    await listening()
    return heard
  }

  const setter = (contract) => async (index) => (await contract.set(index, 'event', { gasLimit: 100_000n })).hash

  return {
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
      equal(block?.transactions.includes(receiptHash(receipt)), true, 'transaction in the block of the receipt')
    },

    confirmations: () =>
      [1, 2].map((confirmations) => async () => {
        const sent = await wallet.sendTransaction({ to: wallet.address })
        const receipt = await sent.wait(confirmations)
        const depth = (await provider.getBlockNumber()) - receipt.blockNumber + 1
        if (confirmations > 1 && depth < confirmations) throw new Error(`${depth} confirmations`)
      }),

    replacement: () => [
      async () => {
        const base = BigInt((await provider.getBlock('latest')).baseFeePerGas)
        const to = Wallet.createRandom().address
        const waiting = { to, value: 1n, gasLimit: 21000n, maxFeePerGas: base / 64n, maxPriorityFeePerGas: 0n }
        const first = await wallet.sendTransaction(waiting)
        const replaced = first.wait().then(
          () => 'mined',
          (error) => `${error.code} ${error.reason ?? ''}`,
        )
        await sleep(2 * POLL_MS)
        const paid = { maxFeePerGas: base * 2n + GWEI, maxPriorityFeePerGas: GWEI }
        const second = await wallet.sendTransaction({ ...waiting, ...paid, nonce: first.nonce })
        equal(receiptHash(await second.wait()), second.hash, 'hash of the receipt')
        equal(await replaced, 'TRANSACTION_REPLACED repriced', 'the wait for the replaced transaction')
      },
    ],

    events: async () => {
      const contract = await prepared(board, 7)
      return [
        async () => watchEvents(() => provider.getBlockNumber(), setter(contract), await heardBy(contract)),
      ]
    },

    restart: async () => {
      const contract = await prepared(board, 7)
      const watched = (listener) => async () => {
        const streamed = new Contract(addressOf(contract), board.abi, listener())
        await watchRestart(setter(contract), await heardBy(streamed))
      }
      return [named('polling', watched(() => provider)), named('WebSocket', watched(socket))]
    },
  }
}
