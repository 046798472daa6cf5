
export default {
  networks: {
    node: { type: 'edr-simulated', chainId: 31337, hardfork: 'osaka', blockGasLimit: 30000000,
      throwOnTransactionFailures: false },
  },
}
