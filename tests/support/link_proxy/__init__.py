"""TCP links between processes that a test can cut, in one direction or both, delay, heal and reset."""

from link_proxy.controller import LinkProxies
from link_proxy.link import OPEN, LinkState

__all__ = ["OPEN", "LinkProxies", "LinkState"]
