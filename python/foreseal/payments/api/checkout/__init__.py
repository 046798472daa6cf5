"""Checkout of one order by a shopper: client secrets, limits, views, and the page's files."""
