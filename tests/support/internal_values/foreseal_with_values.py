"""Runs `foreseal` with other values of fields of `Settings` that have no option.

`foreseal_with_values.py '{"limits.idle": 2000}' dev --port 0`
Each key is the path of a field of `Settings`. The processes of a node with workers have the values as well.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from foreseal.cli.entry import main
from foreseal.server.settings import Settings
from foreseal.server.settings.sources import SettingValues


def with_values(settings: Settings, values: dict[str, Any]) -> Settings:
    """Return the settings with these values, by path."""
    for path, value in values.items():
        group, _, name = path.rpartition(".")
        changes = {name: value}
        if group:
            changes = {group: dataclasses.replace(getattr(settings, group), **changes)}
        settings = dataclasses.replace(settings, **changes)
    return settings


def run(values: dict[str, Any]) -> None:
    """Run the command line with these values."""
    from_sources = SettingValues.settings

    def changed(self: SettingValues, datadir: Path | None = None) -> Settings:
        return with_values(from_sources(self, datadir), values)

    SettingValues.settings = changed  # type: ignore[method-assign]
    main()


if __name__ == "__main__":
    run(json.loads(sys.argv.pop(1)))
