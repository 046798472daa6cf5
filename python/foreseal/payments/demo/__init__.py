"""A tour of the payment states on a development chain, run by `foreseal pay demo`.

`Stage` is a merchant, a buyer and the chain's clock. `Walk` plays the scenes on it, and stops if a state differs from
the specification.
"""

from foreseal.payments.demo.stage import NotDevelopment, Stage
from foreseal.payments.demo.walk import Surprise, Walk

__all__ = ["NotDevelopment", "Stage", "Surprise", "Walk"]
