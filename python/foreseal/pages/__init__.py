"""Browser pages that the node and the payment service send: files, and the handler of their requests."""

from foreseal.pages.static_site import PageResponse, StaticSite

__all__ = ["PageResponse", "StaticSite"]
