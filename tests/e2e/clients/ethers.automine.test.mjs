// ethers 6, unmodified, against a node with automine: run by tests/e2e/clients/test_ethers.py. These are the patterns
// of ethers' own tests, which expect `latest` to show a transaction whose receipt was returned.
import assert from 'node:assert/strict'
import test, { after } from 'node:test'
import { ContractFactory, JsonRpcProvider, NonceManager, Wallet, parseEther } from 'ethers'
import { board, key, url } from './live.mjs'

const provider = new JsonRpcProvider(url, undefined, { cacheTimeout: -1, pollingInterval: 50 })
const wallet = new Wallet(key, provider)

after(() => provider.destroy())

test('the balance at latest shows a transfer after wait', async () => {
  const to = Wallet.createRandom().address
  for (let count = 1n; count <= 3n; count++) {
    const response = await wallet.sendTransaction({ to, value: parseEther('1') })
    const receipt = await response.wait()
    assert.equal(await provider.getBlockNumber(), receipt.blockNumber)
    assert.equal(await provider.getBalance(to), parseEther('1') * count)
    assert.equal((await provider.getBlock('latest')).hash, receipt.blockHash)
    assert.equal((await provider.getTransaction(response.hash)).blockNumber, receipt.blockNumber)
  }
})

test('the nonce at latest follows each receipt', async () => {
  const before = await provider.getTransactionCount(wallet.address)
  await (await wallet.sendTransaction({ to: wallet.address })).wait()
  assert.equal(await provider.getTransactionCount(wallet.address), before + 1)
})

test('a deployed contract has code at latest', async () => {
  const contract = await new ContractFactory(board.abi, board.bytecode, wallet).deploy(7)
  await contract.waitForDeployment()
  const address = await contract.getAddress()
  assert.notEqual(await provider.getCode(address), '0x')
  assert.equal(await contract.getDeployedCode(), await provider.getCode(address))
})

test('transactions sent together are all in latest after their receipts', async () => {
  const to = Wallet.createRandom().address
  const manager = new NonceManager(wallet)
  const sent = []
  for (let count = 0; count < 5; count++) sent.push(await manager.sendTransaction({ to, value: 1n }))
  await Promise.all(sent.map((response) => response.wait()))
  assert.equal(await provider.getBalance(to), 5n)
})
