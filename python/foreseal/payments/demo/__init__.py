"""A walk through the life of payments on a development chain: what `foreseal pay demo` shows.

`Stage` is a merchant, a buyer and the chain's clock; `Walk` plays the scenes on it and refuses to go on where a state
is not what the specification says.
"""

from foreseal.payments.demo.stage import NotDevelopment, Stage
from foreseal.payments.demo.walk import Surprise, Walk

__all__ = ["NotDevelopment", "Stage", "Surprise", "Walk"]
