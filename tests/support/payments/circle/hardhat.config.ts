// Configuration of hardhat for Circle's suite on a node: its tests and contracts are unmodified.
// Compiler settings are those of the suite's CI; its plugins for reports, size limits and Foundry are absent.
import { subtask, HardhatUserConfig } from "hardhat/config";
import {
  TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD,
  TASK_COMPILE_SOLIDITY_GET_SOURCE_PATHS,
} from "hardhat/builtin-tasks/task-names";

import "@nomicfoundation/hardhat-chai-matchers";
import "@nomicfoundation/hardhat-ethers";
import "@nomiclabs/hardhat-truffle5";

// The compiler of the package solc; hardhat would download one.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: require.resolve("solc/soljson.js"),
  isSolcJs: true,
  version: "0.6.12",
  longVersion: require("solc").version(),
}));

// Tests in Solidity need Foundry.
subtask(
  TASK_COMPILE_SOLIDITY_GET_SOURCE_PATHS,
  async (_, { config: { paths } }, runSuper): Promise<string[]> =>
    (await runSuper()).filter((path: string) => path.startsWith(paths.sources))
);

const config: HardhatUserConfig = {
  solidity: {
    version: "0.6.12",
    settings: { optimizer: { enabled: true, runs: 81250 } },
  },
  paths: { artifacts: "./artifacts/hardhat", cache: "./cache/hardhat" },
  networks: {
    hardhat: { chainId: 31337 },
    node: { url: process.env.CIRCLE_NODE || "http://127.0.0.1:8545" },
  },
  mocha: {
    timeout: 60000,
    reporter: "json",
    reporterOptions: { output: process.env.CIRCLE_REPORT },
  },
};

export default config;
