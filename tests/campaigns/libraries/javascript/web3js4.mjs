// web3.js 4
import { Web3 } from 'web3'
import { board, equal, key, POLL_MS, run, sleep, socketUrl, spenderKey, token, until, url, watchEvents } from './flows.mjs'
import { named, watchRestart } from './restart.mjs'

const web3 = new Web3(url)
const account = web3.eth.accounts.wallet.add(key)[0]
const from = account.address

const stranger = () => web3.eth.accounts.create().address

function deployed({ abi, bytecode }, ...args) {
  return new web3.eth.Contract(abi).deploy({ data: bytecode, arguments: args }).send({ from })
}

/** Waits until the newest block that the library reads has the contract. */
async function prepared(artifact, ...args) {
  const contract = await deployed(artifact, ...args)
  await until(async () => (await web3.eth.getCode(contract.options.address)) !== '0x')
  return contract
}

/** Returns the hash of a submitted transaction, before its receipt. */
function submitted(promise) {
  return new Promise((resolve, reject) => {
    promise.on('transactionHash', resolve)
    promise.catch(reject)
  })
}

function confirmed(promise, confirmations) {
  return new Promise((resolve, reject) => {
    promise.on('confirmation', (event) => Number(event.confirmations) >= confirmations && resolve(event.receipt))
    promise.catch(reject)
  })
}

/** Watches the events of a board over a WebSocket; returns what it hears, and how to send a transaction with one. */
async function watched(contract) {
  const heard = []
  const streams = new Web3(socketUrl)
  const events = new streams.eth.Contract(board.abi, contract.options.address).events.ValueSet()
  events.on('data', (event) => heard.push(event.transactionHash))
  await new Promise((resolve) => events.on('connected', resolve))
  // Without a nonce, the library reads it from `latest`.
  let nonce = await web3.eth.getTransactionCount(from, 'pending')
  const send = (index) => submitted(contract.methods.set(index, 'event').send({ from, gas: 100_000, nonce: nonce++ }))
  return { send, heard }
}

await run({
  deploy: () => async () => {
    const contract = await deployed(board, 7)
    equal(await contract.methods.value().call(), 7, 'value after deployment')
    await contract.methods.set(8, 'a note').send({ from })
    equal(await contract.methods.value().call(), 8, 'value after the write')
  },

  allowance: async () => {
    const owned = await prepared(token, 10n ** 12n)
    const spender = web3.eth.accounts.wallet.add(spenderKey).at(-1).address
    return async () => {
      const to = stranger()
      await owned.methods.approve(spender, 5).send({ from })
      await owned.methods.transferFrom(from, to, 5).send({ from: spender })
      equal(await owned.methods.balanceOf(to).call(), 5, 'token balance')
    }
  },

  transfer: () => async () => {
    const to = stranger()
    const receipt = await web3.eth.sendTransaction({ from, to, value: 7 })
    equal(await web3.eth.getBalance(to), 7, 'balance')
    const block = await web3.eth.getBlock(receipt.blockNumber)
    equal(block?.transactions?.includes(receipt.transactionHash), true, 'transaction in the block of the receipt')
  },

  confirmations: () =>
    [1, 2].map((confirmations) => async () => {
      const receipt = await confirmed(web3.eth.sendTransaction({ from, to: from, value: 1 }), confirmations)
      const depth = (await web3.eth.getBlockNumber()) - receipt.blockNumber + 1n
      if (confirmations > 1 && depth < confirmations) throw new Error(`${depth} confirmations`)
    }),

  replacement: () => [
    async () => {
      const base = (await web3.eth.getBlock('latest')).baseFeePerGas
      const nonce = await web3.eth.getTransactionCount(from, 'pending')
      const waiting = { from, to: stranger(), value: 1, gas: 21000, nonce }
      const unpaid = { maxFeePerGas: base / 64n, maxPriorityFeePerGas: 0n }
      // By default, it first executes the transaction by `eth_call`, which rejects a fee below the base fee.
      const options = { checkRevertBeforeSending: false }
      await submitted(web3.eth.sendTransaction({ ...waiting, ...unpaid }, undefined, options))
      await sleep(2 * POLL_MS)
      const paid = { maxFeePerGas: base * 2n + 10n ** 9n, maxPriorityFeePerGas: 10n ** 9n }
      const receipt = await web3.eth.sendTransaction({ ...waiting, ...paid })
      equal(receipt.status, 1, 'status of the replacement')
    },
  ],

  events: async () => {
    const contract = await prepared(board, 7)
    return [
      async () => {
        const { send, heard } = await watched(contract)
        await watchEvents(async () => Number(await web3.eth.getBlockNumber()), send, heard)
      },
    ]
  },

  restart: async () => {
    const contract = await prepared(board, 7)
    const round = async () => {
      const { send, heard } = await watched(contract)
      await watchRestart(send, heard)
    }
    return [named('WebSocket', round)]
  },
})
