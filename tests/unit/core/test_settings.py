"""Defaults of the settings equal the defaults of the core."""

from pathlib import Path

import orjson

from foreseal import _core
from foreseal.server import Settings


def test_core_and_settings_table_have_the_same_defaults() -> None:
    told = orjson.loads(Settings(Path("unused")).for_core())
    core = orjson.loads(_core.default_settings())
    assert len(core["limits"]) > 10
    assert {name: told[name] for name in core} == core
