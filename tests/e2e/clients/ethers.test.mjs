// ethers 6, unmodified, against a node: run by tests/e2e/clients/test_ethers.py.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { Contract, ContractFactory, Interface, JsonRpcProvider, Wallet, isCallException, parseEther } from 'ethers'
import { board, inOneBlock, key, url, waitFor } from './live.mjs'

// The default cache of 250 ms would return an outdated pending block.
const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 50 })
const wallet = new Wallet(key, provider)
const factory = new ContractFactory(board.abi, board.bytecode, wallet)
const iface = new Interface(board.abi)

after(() => provider.destroy())

const sealed = () => provider.getBlockNumber()
const preconfirmed = (hash) => waitFor(`receipt of ${hash}`, () => provider.getTransactionReceipt(hash))

/** Returns the receipt of a transaction in the pending block, the only block that can contain it. */
async function readPending(hash, number) {
  const receipt = await preconfirmed(hash)
  const block = await provider.getBlock('pending')
  assert.equal(receipt.status, 1)
  assert.equal(receipt.blockNumber, number)
  assert.equal(receipt.blockHash, block.hash)
  assert.equal(block.number, number)
  assert.ok(block.transactions.includes(hash))
  return receipt
}

async function readSealed(hash, number) {
  await waitFor(`block ${number}`, async () => (await sealed()) >= number)
  return provider.getTransactionReceipt(hash)
}

const plain = (value) => JSON.parse(JSON.stringify(value))

test('the chain is recognized', async () => {
  assert.equal((await provider.getNetwork()).chainId, 31337n)
  assert.equal(await provider.getBalance(Wallet.createRandom().address, 'pending'), 0n)
})

test('the receipt of a transfer is read while it is pending and is the same once sealed', async () => {
  const to = Wallet.createRandom().address
  const { pending, number, balance } = await inOneBlock(sealed, async (number) => {
    const before = await provider.getBalance(to, 'pending')
    const sent = await wallet.sendTransaction({ to, value: parseEther('0.5') })
    const pending = await readPending(sent.hash, number)
    const balance = await provider.getBalance(to, 'pending')
    assert.equal(balance - before, parseEther('0.5'))
    assert.equal(await provider.getBalance(to, 'latest'), before)
    assert.equal((await provider.getTransaction(sent.hash)).blockHash, pending.blockHash)
    assert.equal(pending.gasUsed, 21000n)
    return { pending, number, balance }
  })
  const final = await readSealed(pending.hash, number)
  assert.deepEqual(plain(final), plain(pending))
  assert.equal((await provider.getBlock(number)).hash, pending.blockHash)
  assert.equal(await provider.getBalance(to, 'latest'), balance)
})

test('the next nonce comes from pending', async () => {
  await inOneBlock(sealed, async () => {
    const [latest, first] = [await wallet.getNonce('latest'), await wallet.getNonce('pending')]
    const sent = []
    for (let i = 0; i < 3; i++) sent.push(await wallet.sendTransaction({ to: wallet.address }))
    assert.deepEqual(
      sent.map((transaction) => transaction.nonce),
      [first, first + 1, first + 2],
    )
    assert.equal(await wallet.getNonce('pending'), first + 3)
    for (const { hash } of sent) await preconfirmed(hash)
    assert.equal(await wallet.getNonce('pending'), first + 3)
    assert.equal(await wallet.getNonce('latest'), latest)
  })
})

test('a contract is deployed, called, estimated and its logs are read, all on pending', async () => {
  const answers = await inOneBlock(sealed, async (number) => {
    const contract = await factory.deploy(7)
    const deployed = await readPending(contract.deploymentTransaction().hash, number)
    assert.equal(deployed.contractAddress, await contract.getAddress())
    assert.equal(await contract.value({ blockTag: 'pending' }), 7n)
    await assert.rejects(contract.value({ blockTag: 'latest' }), (error) => error.code === 'BAD_DATA')

    // ethers always estimates on `latest`, which lacks the contract; the method itself accepts a block.
    const call = await contract.set.populateTransaction(8, 'first')
    const estimate = BigInt(await provider.send('eth_estimateGas', [{ ...call, from: wallet.address }, 'pending']))
    const sent = await contract.set(8, 'first', { gasLimit: estimate })
    const set = await readPending(sent.hash, number)
    assert.ok(estimate >= set.gasUsed && estimate * 1000n <= set.gasUsed * 1015n, `${estimate} for ${set.gasUsed}`)
    assert.equal(await contract.value({ blockTag: 'pending' }), 8n)

    const filter = contract.filters.ValueSet(wallet.address, 8)
    const logs = await contract.queryFilter(filter, 'pending', 'pending')
    assert.deepEqual(
      logs.map((log) => log.args.toArray()),
      [[wallet.address, 8n, 7n, 'first']],
    )
    assert.equal(logs[0].blockHash, set.blockHash)
    assert.equal(logs[0].blockNumber, number)
    assert.deepEqual(await contract.queryFilter(contract.filters.ValueSet(wallet.address, 9), 'pending', 'pending'), [])
    // The whole pending block, for comparison with the sealed one.
    const block = await provider.getBlock('pending', true)
    const receipts = [
      await provider.getTransactionReceipt(deployed.hash),
      await provider.getTransactionReceipt(set.hash),
    ]
    return {
      number,
      address: contract.target,
      block: plain(block),
      receipts: plain(receipts),
      logs: plain(await provider.getLogs({ address: contract.target, fromBlock: 'pending', toBlock: 'pending' })),
    }
  })
  const receipts = [
    await readSealed(answers.receipts[0].hash, answers.number),
    await readSealed(answers.receipts[1].hash, answers.number),
  ]
  assert.deepEqual(plain(receipts), answers.receipts)
  assert.deepEqual(plain(await provider.getBlock(answers.number, true)), answers.block)
  const logs = await provider.getLogs({ address: answers.address, fromBlock: answers.number, toBlock: answers.number })
  assert.deepEqual(plain(logs), answers.logs)
})

test('every kind of transaction is understood', async () => {
  const authority = Wallet.createRandom()
  const authorization = await authority.authorize({ address: wallet.address, chainId: 31337, nonce: 0 })
  const kinds = {
    0: { gasPrice: 10n ** 10n },
    1: { gasPrice: 10n ** 10n, accessList: [{ address: wallet.address, storageKeys: [] }] },
    2: {},
    4: { authorizationList: [authorization] },
  }
  for (const [type, fields] of Object.entries(kinds)) {
    const sent = await wallet.sendTransaction({ to: wallet.address, type: Number(type), ...fields })
    const receipt = await preconfirmed(sent.hash)
    assert.deepEqual([receipt.type, receipt.status], [Number(type), 1])
    const transaction = await provider.getTransaction(sent.hash)
    assert.equal(transaction.type, Number(type))
    assert.deepEqual(plain(transaction.accessList), type === '0' ? null : (fields.accessList ?? []))
    assert.equal(transaction.authorizationList?.length, fields.authorizationList?.length)
  }
  const code = await provider.getCode(authority.address, 'pending')
  assert.equal(code, `0xef0100${wallet.address.slice(2).toLowerCase()}`)
})

test('waiting for a receipt works', async () => {
  const sent = await wallet.sendTransaction({ to: wallet.address, value: 1 })
  // The first wait accepts any receipt as a confirmation, the second one counts sealed blocks.
  const first = await sent.wait(1, 20_000)
  assert.equal(first.status, 1)
  const receipt = await provider.waitForTransaction(sent.hash, 1, 20_000)
  assert.equal(receipt.status, 1)
  assert.ok((await sealed()) >= receipt.blockNumber)
})

test('reverts are decoded: reason, custom error, panic, nothing', async () => {
  const contract = new Contract((await factory.deploy(7)).target, board.abi, wallet)
  await waitFor('contract', async () => (await provider.getCode(contract.target, 'pending')) !== '0x')
  const cases = [
    [
      'failWithReason',
      [],
      (error) => assert.deepEqual([error.reason, error.revert.name], ['the board is closed', 'Error']),
    ],
    [
      'failWithCustomError',
      [42],
      (error) => assert.deepEqual([error.revert.name, ...error.revert.args], ['Refused', wallet.address, 42n]),
    ],
    ['divide', [0], ({ revert }) => assert.deepEqual([revert.name, Number(revert.args[0])], ['Panic', 0x12])],
    ['failWithoutData', [], (error) => assert.deepEqual([error.data, error.revert], ['0x', null])],
  ]
  for (const [name, args, check] of cases) {
    const transaction = await contract[name].populateTransaction(...args)
    await assert.rejects(contract[name].staticCall(...args, { blockTag: 'pending' }), (error) => {
      assert.ok(isCallException(error), `${name}: ${error.code}`)
      assert.equal(error.action, 'call')
      check(error)
      return true
    })
    await assert.rejects(
      provider.send('eth_estimateGas', [{ ...transaction, from: wallet.address }, 'pending']),
      (error) => {
        assert.ok(isCallException(error), `${name}: ${error.code}`)
        assert.equal(error.action, 'estimateGas')
        assert.equal(error.info.error.message, 'execution reverted')
        // A plain `send` has no ABI: the caller decodes the data.
        const revert = error.data === '0x' ? null : iface.parseError(error.data)
        check(Object.assign(error, { revert }))
        return true
      },
    )
  }
})

test('what the specification refuses is recognized', async () => {
  const nonce = await wallet.getNonce('pending')
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  // A nonce gap keeps it in the pool.
  await wallet.sendTransaction({ to: wallet.address, nonce: nonce + 5, gasLimit: 21000, ...fees })
  const refused = (fields, code) =>
    assert.rejects(wallet.sendTransaction({ to: wallet.address, gasLimit: 21000, ...fees, ...fields }), (error) => {
      assert.equal(error.code, code)
      return true
    })
  await refused({ nonce: nonce + 5, value: 1 }, 'REPLACEMENT_UNDERPRICED')
  await refused({ nonce: 0 }, 'NONCE_EXPIRED')
  await refused({ nonce, value: parseEther('1000000') }, 'INSUFFICIENT_FUNDS')
})
