"""A tour of the payment states on a development chain, run by `foreseal pay demo`.

`DemoEnvironment` is a merchant, a buyer and the chain's clock. `DemoPlayer` plays the scenes on it, and stops if a
state differs from the specification.
"""

from foreseal.payments.demo.environment import DemoEnvironment, NotDevelopment
from foreseal.payments.demo.scenes import DemoPlayer, Surprise

__all__ = ["DemoEnvironment", "DemoPlayer", "NotDevelopment", "Surprise"]
