// viem, unmodified, against a node: run by tests/e2e/clients/test_viem.py.
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  InsufficientFundsError,
  NonceTooLowError,
  TransactionReceiptNotFoundError,
  createPublicClient,
  createWalletClient,
  getContractAddress,
  http,
  parseEther,
  publicActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { board, inOneBlock, key, url, waitFor } from './live.mjs'

const { abi, bytecode } = board
const account = privateKeyToAccount(key)
// The definition of another development chain with the same chain ID.
const chain = { ...foundry, rpcUrls: { default: { http: [url] } } }
const client = createWalletClient({ account, chain, transport: http(url), cacheTime: 0, pollingInterval: 50 }).extend(
  publicActions,
)
const onlooker = createPublicClient({ transport: http(url, { batch: true }), cacheTime: 0 })

const sealed = async () => Number(await client.getBlockNumber())
// viem's own wait polls only when the latest block has changed, so it mostly returns sealed receipts.
const preconfirmed = (hash) =>
  waitFor(`receipt of ${hash}`, () =>
    client.getTransactionReceipt({ hash }).catch((error) => {
      if (!(error instanceof TransactionReceiptNotFoundError)) throw error
    }),
  )
const newAddress = () => privateKeyToAccount(generatePrivateKey()).address
const pendingNonce = () => client.getTransactionCount({ address: account.address, blockTag: 'pending' })

/** Returns the receipt of a transaction in the pending block, the only block that can contain it. */
async function readPending(hash, number) {
  const receipt = await preconfirmed(hash)
  const block = await client.getBlock({ blockTag: 'pending' })
  assert.equal(receipt.status, 'success')
  assert.equal(receipt.blockNumber, BigInt(number))
  assert.equal(receipt.blockHash, block.hash)
  assert.equal(block.number, BigInt(number))
  assert.ok(block.transactions.includes(hash))
  return receipt
}

async function readSealed(hash, number) {
  await waitFor(`block ${number}`, async () => (await sealed()) >= number)
  return client.getTransactionReceipt({ hash })
}

test('the chain is recognized', async () => {
  assert.equal(await client.getChainId(), 31337)
  // viem sends two simultaneous calls as a batch.
  const [id, balance] = await Promise.all([
    onlooker.getChainId(),
    onlooker.getBalance({ address: newAddress(), blockTag: 'pending' }),
  ])
  assert.deepEqual([id, balance], [31337, 0n])
})

test('the receipt of a transfer is read while it is pending and is the same once sealed', async () => {
  const to = newAddress()
  const { pending, number, balance } = await inOneBlock(sealed, async (number) => {
    const before = await client.getBalance({ address: to, blockTag: 'pending' })
    const hash = await client.sendTransaction({ to, value: parseEther('0.5') })
    const pending = await readPending(hash, number)
    const balance = await client.getBalance({ address: to, blockTag: 'pending' })
    assert.equal(balance - before, parseEther('0.5'))
    assert.equal(await client.getBalance({ address: to, blockTag: 'latest' }), before)
    assert.equal((await client.getTransaction({ hash })).blockHash, pending.blockHash)
    assert.equal(pending.gasUsed, 21000n)
    return { pending, number, balance }
  })
  assert.deepEqual(await readSealed(pending.transactionHash, number), pending)
  assert.equal((await client.getBlock({ blockNumber: BigInt(number) })).hash, pending.blockHash)
  assert.equal(await client.getBalance({ address: to, blockTag: 'latest' }), balance)
})

test('the next nonce comes from pending', async () => {
  await inOneBlock(sealed, async () => {
    const latest = await client.getTransactionCount({ address: account.address })
    const first = await pendingNonce()
    const hashes = []
    for (let i = 0; i < 3; i++) hashes.push(await client.sendTransaction({ to: account.address }))
    assert.equal(await pendingNonce(), first + 3)
    for (const [i, hash] of hashes.entries()) {
      await preconfirmed(hash)
      assert.equal((await client.getTransaction({ hash })).nonce, first + i)
    }
    assert.equal(await pendingNonce(), first + 3)
    assert.equal(await client.getTransactionCount({ address: account.address }), latest)
  })
})

test('a contract is deployed, called, estimated and its logs are read, all on pending', async () => {
  const answers = await inOneBlock(sealed, async (number) => {
    const deployed = await readPending(await client.deployContract({ abi, bytecode, args: [7n] }), number)
    const address = deployed.contractAddress
    const { nonce } = await client.getTransaction({ hash: deployed.transactionHash })
    assert.equal(
      address.toLowerCase(),
      getContractAddress({ from: account.address, nonce: BigInt(nonce) }).toLowerCase(),
    )
    const value = (blockTag) => client.readContract({ address, abi, functionName: 'value', blockTag })
    assert.equal(await value('pending'), 7n)
    await assert.rejects(
      value('latest'),
      (error) => error.walk((e) => e instanceof ContractFunctionZeroDataError) !== null,
    )

    const call = { address, abi, functionName: 'set', args: [8n, 'first'], account }
    const estimate = await client.estimateContractGas({ ...call, blockTag: 'pending' })
    const set = await readPending(await client.writeContract({ ...call, gas: estimate }), number)
    assert.ok(estimate >= set.gasUsed && estimate * 1000n <= set.gasUsed * 1015n, `${estimate} for ${set.gasUsed}`)
    assert.equal(await value('pending'), 8n)

    const query = { address, abi, eventName: 'ValueSet', fromBlock: 'pending', toBlock: 'pending' }
    const logs = await client.getContractEvents({ ...query, args: { author: account.address, value: 8n } })
    assert.deepEqual(
      logs.map((log) => log.args),
      [{ author: account.address, value: 8n, previous: 7n, note: 'first' }],
    )
    assert.equal(logs[0].blockHash, set.blockHash)
    assert.equal(logs[0].blockNumber, BigInt(number))
    assert.deepEqual(await client.getContractEvents({ ...query, args: { value: 9n } }), [])
    // The pending state, for comparison with the sealed block.
    const receipts = await Promise.all(
      [deployed, set].map(({ transactionHash: hash }) => client.getTransactionReceipt({ hash })),
    )
    const block = await client.getBlock({ blockTag: 'pending', includeTransactions: true })
    return {
      number,
      address,
      block,
      receipts,
      logs: await client.getLogs({ address, fromBlock: 'pending', toBlock: 'pending' }),
    }
  })
  const receipts = []
  for (const { transactionHash } of answers.receipts) receipts.push(await readSealed(transactionHash, answers.number))
  assert.deepEqual(receipts, answers.receipts)
  const blockNumber = BigInt(answers.number)
  assert.deepEqual(await client.getBlock({ blockNumber, includeTransactions: true }), answers.block)
  assert.deepEqual(
    await client.getLogs({ address: answers.address, fromBlock: blockNumber, toBlock: blockNumber }),
    answers.logs,
  )
})

test('every kind of transaction is understood', async () => {
  const authority = privateKeyToAccount(generatePrivateKey())
  const authorization = await authority.signAuthorization({ address: account.address, chainId: chain.id, nonce: 0 })
  const kinds = {
    legacy: { gasPrice: 10n ** 10n },
    eip2930: { gasPrice: 10n ** 10n, accessList: [{ address: account.address, storageKeys: [] }] },
    eip1559: {},
    eip7702: { authorizationList: [authorization] },
  }
  for (const [type, fields] of Object.entries(kinds)) {
    const hash = await client.sendTransaction({ to: account.address, type, ...fields })
    const receipt = await preconfirmed(hash)
    assert.deepEqual([receipt.type, receipt.status], [type, 'success'])
    const transaction = await client.getTransaction({ hash })
    assert.equal(transaction.type, type)
    assert.equal(transaction.accessList?.length, type === 'legacy' ? undefined : (fields.accessList?.length ?? 0))
    assert.equal(transaction.authorizationList?.length, fields.authorizationList?.length)
  }
  const code = await client.getCode({ address: authority.address, blockTag: 'pending' })
  assert.equal(code, `0xef0100${account.address.slice(2).toLowerCase()}`)
})

test('waiting for a receipt works', async () => {
  const hash = await client.sendTransaction({ to: account.address, value: 1n })
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 20_000 })
  assert.equal(receipt.status, 'success')
  assert.equal(receipt.transactionHash, hash)
})

test('reverts are decoded: reason, custom error, panic, nothing', async () => {
  const { contractAddress: address } = await preconfirmed(await client.deployContract({ abi, bytecode, args: [7n] }))
  const cases = [
    ['failWithReason', [], (revert) => assert.equal(revert.reason, 'the board is closed')],
    [
      'failWithCustomError',
      [42n],
      ({ data }) => assert.deepEqual([data.errorName, ...data.args], ['Refused', account.address, 42n]),
    ],
    ['divide', [0n], ({ data }) => assert.deepEqual([data.errorName, ...data.args], ['Panic', 0x12n])],
    ['failWithoutData', [], (revert) => assert.deepEqual([revert.raw ?? '0x', revert.data], ['0x', undefined])],
  ]
  for (const [functionName, args, check] of cases) {
    const call = { address, abi, functionName, args, account, blockTag: 'pending' }
    for (const action of ['simulateContract', 'estimateContractGas']) {
      await assert.rejects(client[action](call), (error) => {
        const revert = error.walk((e) => e instanceof ContractFunctionRevertedError)
        assert.ok(revert, `${action} of ${functionName}: ${error}`)
        check(revert)
        return true
      })
    }
  }
})

test('what the specification refuses is recognized', async () => {
  const nonce = await pendingNonce()
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n, gas: 21000n }
  const send = (fields) => client.sendTransaction({ to: account.address, ...fees, ...fields })
  // A nonce gap keeps it in the pool.
  await send({ nonce: nonce + 5 })
  const refused = (fields, message, kind) =>
    assert.rejects(send(fields), (error) => {
      assert.ok(error instanceof BaseError)
      assert.equal(error.details, message)
      if (kind)
        assert.ok(
          error.walk((e) => e instanceof kind),
          `${error}`,
        )
      return true
    })
  await refused({ nonce: nonce + 5 }, 'already known')
  await refused({ nonce: nonce + 5, value: 1n }, 'replacement transaction underpriced')
  await refused({ nonce: 0 }, 'nonce too low', NonceTooLowError)
  await refused(
    { nonce, value: parseEther('1000000') },
    'insufficient funds for gas * price + value',
    InsufficientFundsError,
  )
})
