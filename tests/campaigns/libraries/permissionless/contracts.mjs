// The contracts of ERC-4337 at their official addresses, from the packages of their authors.
import { createRequire } from 'node:module'
import { concatHex, encodeDeployData, getContractAddress } from 'viem'
import { entryPoint07Address } from 'viem/account-abstraction'
import { until } from '../javascript/flows.mjs'

// The development genesis has it, and so has anvil.
const DETERMINISTIC_DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
// Salt of version 0.7 on every chain. The addresses below are the check: they contain the hash of the bytecode.
const ENTRY_POINT_SALT = '0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3'
const FACTORY_SALT = `0x${'0'.repeat(64)}`
const FACTORY = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985'

const require = createRequire(import.meta.url)
const artifact = (name) => require(`@account-abstraction/contracts/artifacts/${name}.json`)

/** Deploys the entry point and the factory of SimpleAccount where the chain does not have them. */
export async function deployEntryPoint(client, wallet) {
  await deployAt(entryPoint07Address, ENTRY_POINT_SALT, artifact('EntryPoint').bytecode)
  const { abi, bytecode } = artifact('SimpleAccountFactory')
  await deployAt(FACTORY, FACTORY_SALT, encodeDeployData({ abi, bytecode, args: [entryPoint07Address] }))

  async function deployAt(address, salt, bytecode) {
    const computed = getContractAddress({ opcode: 'CREATE2', from: DETERMINISTIC_DEPLOYER, salt, bytecode })
    if (computed !== address) throw new Error(`the package has another contract: ${computed}, expected ${address}`)
    if (await client.getCode({ address })) return
    try {
      const hash = await wallet.sendTransaction({ to: DETERMINISTIC_DEPLOYER, data: concatHex([salt, bytecode]) })
      await client.waitForTransactionReceipt({ hash })
    } catch (error) {
      // The program of another flow on this chain has deployed it: a second deployment reverts.
      if (!/revert/.test(error.message)) throw error
    }
    await until(() => client.getCode({ address }))
  }
}
