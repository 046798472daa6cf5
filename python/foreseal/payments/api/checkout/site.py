"""The checkout page: its document at `/checkout/ORDER`, and its files below `/checkout/static/`."""

import functools

from foreseal.pages import StaticSite

BUTTON = "checkout/button.js"
"""The only file that pages of other origins may load."""


@functools.cache
def checkout_site() -> StaticSite:
    """Return the files, which all merchants of a process share."""
    return StaticSite("checkout", shared=[BUTTON], has_opener=True)
