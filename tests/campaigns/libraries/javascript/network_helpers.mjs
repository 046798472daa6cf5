// Each function of hardhat-network-helpers 1 and 3, and its effect on the chain.
import { equal } from './flows.mjs'

const STRANGER = `0x${'5a'.repeat(20)}`
const CODE = '0x60006000f3'
const WORD = `0x${'00'.repeat(31)}2a`
const GAS_LIMIT = 20_000_000
const BASE_FEE = 2_000_000_000
const MINUTE = 60

/** Returns one round for each function. `request` sends a request, `from` is an account that the node signs for. */
export function helperRounds(helpers, request, from) {
  const rpc = (method, ...params) => request({ method, params })
  const block = (tag = 'latest') => rpc('eth_getBlockByNumber', tag, false)
  const next = async () => {
    await helpers.mine()
    return block()
  }
  const balance = async (address) => BigInt(await rpc('eth_getBalance', address, 'latest'))
  return Object.entries({ ...accounts(), ...blocks(), ...clock(), ...snapshots() }).map(([name, round]) => async () => {
    try {
      await round()
    } catch (error) {
      throw new Error(`${name}: ${error.shortMessage ?? error.message}`)
    }
  })

  function accounts() {
    return {
      setBalance: async () => {
        await helpers.setBalance(STRANGER, 10n ** 18n)
        equal(await balance(STRANGER), 10n ** 18n, 'balance')
      },
      setCode: async () => {
        await helpers.setCode(`0x${'5b'.repeat(20)}`, CODE)
        equal(await rpc('eth_getCode', `0x${'5b'.repeat(20)}`, 'latest'), CODE, 'code')
      },
      setNonce: async () => {
        await helpers.setNonce(`0x${'5c'.repeat(20)}`, 7)
        equal(await rpc('eth_getTransactionCount', `0x${'5c'.repeat(20)}`, 'latest'), '0x7', 'nonce')
      },
      setStorageAt: async () => {
        await helpers.setStorageAt(STRANGER, 3, 42)
        equal(await helpers.getStorageAt(STRANGER, 3), WORD, 'word')
      },
      impersonateAccount: async () => {
        await helpers.impersonateAccount(STRANGER)
        const to = `0x${'5d'.repeat(20)}`
        await rpc('eth_sendTransaction', { from: STRANGER, to, value: '0x7' })
        equal(await balance(to), 7, 'balance')
        await helpers.stopImpersonatingAccount(STRANGER)
        const sent = rpc('eth_sendTransaction', { from: STRANGER, to, value: '0x7' })
        const result = await sent.then(() => 'accepted').catch(() => 'rejected')
        equal(result, 'rejected', 'a transaction after the end of the impersonation')
      },
    }
  }

  function blocks() {
    return {
      mine: async () => {
        const before = Number((await block()).number)
        await helpers.mine(3, { interval: 10 })
        const [last, previous] = [await block(), await block(`0x${(before + 2).toString(16)}`)]
        equal(Number(last.number), before + 3, 'number')
        equal(Number(last.timestamp) - Number(previous.timestamp), 10, 'interval')
      },
      mineUpTo: async () => {
        const target = Number((await block()).number) + 5
        await helpers.mineUpTo(target)
        equal(Number((await block()).number), target, 'number')
      },
      setCoinbase: async () => {
        await helpers.setCoinbase(STRANGER)
        equal((await next()).miner, STRANGER, 'miner')
      },
      setBlockGasLimit: async () => {
        await helpers.setBlockGasLimit(GAS_LIMIT)
        equal(Number((await next()).gasLimit), GAS_LIMIT, 'gas limit')
      },
      setNextBlockBaseFeePerGas: async () => {
        await helpers.setNextBlockBaseFeePerGas(BASE_FEE)
        equal(Number((await next()).baseFeePerGas), BASE_FEE, 'base fee')
      },
      setPrevRandao: async () => {
        await helpers.setPrevRandao(42)
        equal((await next()).mixHash, WORD, 'mix hash')
      },
      dropTransaction: async () => {
        await rpc('evm_setAutomine', false)
        const hash = await rpc('eth_sendTransaction', { from, to: STRANGER, value: '0x1' })
        equal(await helpers.dropTransaction(hash), true, 'result')
        await rpc('evm_setAutomine', true)
        await helpers.mine()
        equal(await rpc('eth_getTransactionReceipt', hash), null, 'receipt')
      },
    }
  }

  function clock() {
    return {
      'time.latest': async () => equal(await helpers.time.latest(), Number((await block()).timestamp), 'time'),
      'time.latestBlock': async () => equal(await helpers.time.latestBlock(), Number((await block()).number), 'number'),
      'time.increase': async () => {
        const before = Number((await block()).timestamp)
        const timestamp = await helpers.time.increase(MINUTE)
        equal(timestamp, Number((await block()).timestamp), 'result')
        equal(timestamp >= before + MINUTE, true, `${timestamp - before} s, enough`)
      },
      'time.increaseTo': async () => {
        const target = (await helpers.time.latest()) + 2 * MINUTE
        await helpers.time.increaseTo(target)
        equal(await helpers.time.latest(), target, 'time')
      },
      'time.setNextBlockTimestamp': async () => {
        const target = (await helpers.time.latest()) + 3 * MINUTE
        await helpers.time.setNextBlockTimestamp(target)
        equal(Number((await next()).timestamp), target, 'time')
      },
    }
  }

  function snapshots() {
    return {
      takeSnapshot: async () => {
        const before = await helpers.time.latestBlock()
        const snapshot = await helpers.takeSnapshot()
        for (const blocks of [1, 2]) {
          await helpers.mine(blocks)
          await helpers.setBalance(STRANGER, 5)
          await snapshot.restore()
          equal(await helpers.time.latestBlock(), before, 'number')
          equal((await balance(STRANGER)) === 5n, false, 'the balance of after the snapshot is there')
        }
      },
      loadFixture: async () => {
        let runs = 0
        async function fixture() {
          runs++
          await helpers.mine(2)
          return helpers.time.latestBlock()
        }
        const first = await helpers.loadFixture(fixture)
        await helpers.mine(3)
        equal(await helpers.loadFixture(fixture), first, 'number')
        equal(await helpers.time.latestBlock(), first, 'number of the chain')
        equal(runs, 1, 'runs')
      },
      clearSnapshots: async () => helpers.clearSnapshots?.(),
      reset: async () => {
        // Only version 1 has it.
        if (!helpers.reset) return
        await helpers.reset()
        equal(await helpers.time.latestBlock(), 0, 'number')
      },
    }
  }
}
