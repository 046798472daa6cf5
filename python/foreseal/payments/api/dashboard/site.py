"""The dashboard's page: its document at `/dashboard`, and its files below `/dashboard/static/`."""

import functools

from foreseal.pages import StaticSite


@functools.cache
def _files() -> StaticSite:
    return StaticSite("dashboard")


def dashboard_site(merchant: str | None) -> StaticSite:
    """Return the files, which all merchants of a process share; paths of a named merchant begin with its name."""
    return _files() if merchant is None else _files().mounted_at(f"/{merchant}")
