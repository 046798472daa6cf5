// Flows of hardhat 2 and 3: a script that deploys by ignition and calls by hardhat-ethers, and the network helpers.
import { board, equal, random, run, token } from './flows.mjs'
import { helperRounds } from './network_helpers.mjs'

/** The form of an artifact that hardhat compiles. */
const artifact = ({ contract, abi, bytecode }) => ({
  ...{ _format: 'hh-sol-artifact-1', contractName: contract, sourceName: `contracts/${contract}.sol`, abi, bytecode },
  ...{ deployedBytecode: '0x', linkReferences: {}, deployedLinkReferences: {} },
})
const stranger = () => `0x${[...Array(40)].map(() => Math.floor(random() * 16).toString(16)).join('')}`

/** Runs the flows. `connection` has `ethers`, `ignition`, `networkHelpers` and `request`. */
export async function runHardhat(buildModule, { ethers, ignition, networkHelpers, request }) {
  const [owner, spender] = await ethers.getSigners()
  let deployments = 0
  /** Deploys what `build` describes, by a module with its own name. */
  const deploy = (build) => ignition.deploy(buildModule(`Round${++deployments}`, build))

  await run({
    deploy: () => async () => {
      const { contract } = await deploy((m) => ({ contract: m.contract('Board', artifact(board), [7]) }))
      equal(await contract.value(), 7, 'value after deployment')
      // Ignition rejects a deployment by an account whose other transactions have less than 5 confirmations.
      await (await contract.connect(spender).set(8, 'a note')).wait()
      equal(await contract.value(), 8, 'value after the write')
    },

    // Three transactions of two senders, each of which fails without the one before.
    allowance: () => async () => {
      const to = stranger()
      const { contract } = await deploy((m) => {
        const contract = m.contract('Token', artifact(token), [10n ** 12n])
        const approval = m.call(contract, 'approve', [spender.address, 5])
        const options = { from: m.getAccount(1), after: [approval] }
        m.call(contract, 'transferFrom', [owner.address, to, 5], options)
        return { contract }
      })
      equal(await contract.balanceOf(to), 5, 'token balance')
    },

    transfer: () => async () => {
      const to = stranger()
      const receipt = await (await owner.sendTransaction({ to, value: 7n })).wait()
      equal(await ethers.provider.getBalance(to), 7, 'balance')
      const block = await ethers.provider.getBlock(receipt.blockNumber)
      equal(block?.transactions.includes(receipt.hash), true, 'transaction in the block of the receipt')
    },

    confirmations: () =>
      [1, 2].map((confirmations) => async () => {
        const sent = await owner.sendTransaction({ to: owner.address })
        const receipt = await sent.wait(confirmations)
        const depth = (await ethers.provider.getBlockNumber()) - receipt.blockNumber + 1
        if (confirmations > 1 && depth < confirmations) throw new Error(`${depth} confirmations`)
      }),

    helpers: async () => helperRounds(networkHelpers, request, (await request({ method: 'eth_accounts' }))[0]),
  })
}
