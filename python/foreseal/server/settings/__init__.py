"""Settings of a server: their table, and the sources of their values.

Design: docs/design/decisions/settings-and-start.md.
"""

from foreseal.server.settings.model import CoreLimits, DevChain, ListenSettings, Settings, StoreSettings
from foreseal.server.settings.setting import Setting, SettingsError
from foreseal.server.settings.sources import from_environment, merge_sources
from foreseal.server.settings.table import SECTIONS, TABLE

__all__ = [
    "SECTIONS",
    "TABLE",
    "CoreLimits",
    "DevChain",
    "ListenSettings",
    "Setting",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "from_environment",
    "merge_sources",
]
