"""Contracts for frameworks that compile them; the package of Vyper brings its compiler."""

BOARD = """
# pragma version 0.4.3
event ValueSet:
    author: indexed(address)
    value: uint256

value: public(uint256)

@deploy
def __init__(first: uint256):
    self.value = first

@external
def set(next: uint256, note: String[32]):
    self.value = next
    log ValueSet(author=msg.sender, value=next)
"""

TOKEN = """
# pragma version 0.4.3
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])

@deploy
def __init__(supply: uint256):
    self.balanceOf[msg.sender] = supply

@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    return True

@external
def transferFrom(owner: address, to: address, amount: uint256) -> bool:
    self.allowance[owner][msg.sender] -= amount
    self.balanceOf[owner] -= amount
    self.balanceOf[to] += amount
    return True
"""
