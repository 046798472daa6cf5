// viem, unmodified, against a node with automine: run by tests/e2e/clients/test_viem.py. These are the patterns of
// viem's own tests, which expect `latest` to show a transaction whose receipt was returned.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createTestClient, createWalletClient, http, parseEther, publicActions } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { board, key, url } from './live.mjs'

const account = privateKeyToAccount(key)
const chain = { ...foundry, rpcUrls: { default: { http: [url] } } }
const client = createWalletClient({ account, chain, transport: http(url), cacheTime: 0, pollingInterval: 50 }).extend(
  publicActions,
)
const tools = createTestClient({ mode: 'anvil', chain, transport: http(url) })
const newAddress = () => privateKeyToAccount(generatePrivateKey()).address

test('the balance at latest shows a transfer after its receipt', async () => {
  const address = newAddress()
  for (let count = 1n; count <= 3n; count++) {
    const hash = await client.sendTransaction({ to: address, value: parseEther('1') })
    const receipt = await client.waitForTransactionReceipt({ hash })
    assert.equal(receipt.status, 'success')
    assert.equal(await client.getBalance({ address }), parseEther('1') * count)
    assert.equal((await client.getBlock()).hash, receipt.blockHash)
    assert.equal(await client.getTransactionConfirmations({ hash }), 1n)
  }
})

test('the nonce at latest follows each receipt', async () => {
  const before = await client.getTransactionCount({ address: account.address })
  const hash = await client.sendTransaction({ to: account.address })
  await client.waitForTransactionReceipt({ hash })
  assert.equal(await client.getTransactionCount({ address: account.address }), before + 1)
})

test('a deployed contract has code at latest', async () => {
  const hash = await client.deployContract({ abi: board.abi, bytecode: board.bytecode, args: [7n] })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  assert.ok(await client.getCode({ address: contractAddress }))
})

test('automine is switched off and on by the test client', async () => {
  assert.equal(await tools.getAutomine(), true)
  await tools.setAutomine(false)
  const address = newAddress()
  const hash = await client.sendTransaction({ to: address, value: 1n })
  assert.equal(await client.getBalance({ address }), 0n)
  await tools.setAutomine(true)
  const receipt = await client.waitForTransactionReceipt({ hash })
  assert.equal(await client.getBalance({ address }), 1n)
  assert.ok(receipt.blockNumber <= (await client.getBlockNumber()))
})
