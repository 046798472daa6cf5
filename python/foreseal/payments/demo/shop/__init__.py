"""A small shop for `foreseal pay demo --shop`: it sells three products by payment links of a merchant service.

`prepare` writes the configuration of the service and creates the keys. `DemoShop` is the shop's server.
"""

from foreseal.payments.demo.shop.app import DemoShop, ShopSettings
from foreseal.payments.demo.shop.setup import ShopAddresses, prepare

__all__ = ["DemoShop", "ShopAddresses", "ShopSettings", "prepare"]
