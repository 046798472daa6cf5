// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Holds the price of orders until the buyer confirms, or gives it back after a deadline.
contract Till {
    struct Order {
        address buyer;
        uint256 amount;
        uint256 deadline;
    }

    error UnknownOrder(bytes32 id);
    error NotYet(uint256 deadline);

    event Paid(bytes32 indexed id, address indexed buyer, uint256 amount);
    event Confirmed(bytes32 indexed id, uint256 amount);
    event Refunded(bytes32 indexed id, uint256 amount);

    address payable public immutable merchant;
    mapping(bytes32 => Order) public orders;

    constructor(address payable merchant_) {
        merchant = merchant_;
    }

    function pay(bytes32 id, uint256 period) external payable {
        require(orders[id].amount == 0, "order is paid");
        require(msg.value > 0, "nothing was sent");
        orders[id] = Order(msg.sender, msg.value, block.timestamp + period);
        emit Paid(id, msg.sender, msg.value);
    }

    function confirm(bytes32 id) external {
        Order memory order = orders[id];
        if (order.amount == 0) revert UnknownOrder(id);
        require(msg.sender == order.buyer, "only the buyer confirms");
        delete orders[id];
        _send(merchant, order.amount);
        emit Confirmed(id, order.amount);
    }

    function refund(bytes32 id) external {
        Order memory order = orders[id];
        if (order.amount == 0) revert UnknownOrder(id);
        if (block.timestamp < order.deadline) revert NotYet(order.deadline);
        delete orders[id];
        _send(order.buyer, order.amount);
        emit Refunded(id, order.amount);
    }

    function _send(address to, uint256 amount) private {
        (bool sent,) = to.call{value: amount}("");
        require(sent, "the receiver refused");
    }
}
