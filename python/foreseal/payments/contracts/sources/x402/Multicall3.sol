// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Several calls in one, with Multicall3's interface, for development chains.
contract Multicall3 {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Call3Value {
        address target;
        bool allowFailure;
        uint256 value;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate(Call[] calldata calls)
        external
        payable
        returns (uint256 blockNumber, bytes[] memory returnData)
    {
        blockNumber = block.number;
        Result[] memory results = tryAggregate(true, calls);
        returnData = new bytes[](results.length);
        for (uint256 index = 0; index < results.length; ++index) {
            returnData[index] = results[index].returnData;
        }
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls)
        public
        payable
        returns (Result[] memory returnData)
    {
        returnData = new Result[](calls.length);
        for (uint256 index = 0; index < calls.length; ++index) {
            returnData[index] = _call(calls[index].target, 0, !requireSuccess, calls[index].callData);
        }
    }

    function blockAndAggregate(Call[] calldata calls)
        external
        payable
        returns (uint256 blockNumber, bytes32 blockHash, Result[] memory returnData)
    {
        return tryBlockAndAggregate(true, calls);
    }

    function tryBlockAndAggregate(bool requireSuccess, Call[] calldata calls)
        public
        payable
        returns (uint256 blockNumber, bytes32 blockHash, Result[] memory returnData)
    {
        return (block.number, blockhash(block.number), tryAggregate(requireSuccess, calls));
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        for (uint256 index = 0; index < calls.length; ++index) {
            returnData[index] = _call(calls[index].target, 0, calls[index].allowFailure, calls[index].callData);
        }
    }

    function aggregate3Value(Call3Value[] calldata calls) external payable returns (Result[] memory returnData) {
        returnData = new Result[](calls.length);
        uint256 sum = 0;
        for (uint256 index = 0; index < calls.length; ++index) {
            Call3Value calldata each = calls[index];
            sum += each.value;
            returnData[index] = _call(each.target, each.value, each.allowFailure, each.callData);
        }
        require(msg.value == sum, "Multicall3: value mismatch");
    }

    function getBasefee() external view returns (uint256) {
        return block.basefee;
    }

    function getBlockHash(uint256 blockNumber) external view returns (bytes32) {
        return blockhash(blockNumber);
    }

    function getBlockNumber() external view returns (uint256) {
        return block.number;
    }

    function getChainId() external view returns (uint256) {
        return block.chainid;
    }

    function getCurrentBlockCoinbase() external view returns (address) {
        return block.coinbase;
    }

    function getCurrentBlockDifficulty() external view returns (uint256) {
        return block.prevrandao;
    }

    function getCurrentBlockGasLimit() external view returns (uint256) {
        return block.gaslimit;
    }

    function getCurrentBlockTimestamp() external view returns (uint256) {
        return block.timestamp;
    }

    function getEthBalance(address account) external view returns (uint256) {
        return account.balance;
    }

    function getLastBlockHash() external view returns (bytes32) {
        return blockhash(block.number - 1);
    }

    function _call(address target, uint256 value, bool allowFailure, bytes calldata data)
        private
        returns (Result memory result)
    {
        (result.success, result.returnData) = target.call{value: value}(data);
        require(result.success || allowFailure, "Multicall3: call failed");
    }
}
