"""Options of a node under a driver, and the combinations that are rejected."""

from pathlib import Path

import pytest

from foreseal.server.settings.engine import EngineOptions
from foreseal.server.settings.setting import SettingsError

LISTEN = ("127.0.0.1", 8551)


def test_core_gets_the_listeners_that_have_an_address() -> None:
    engine = EngineOptions(listen=LISTEN, jwt=Path("jwt"))
    assert engine.for_core() == {"engine": {"listen": "127.0.0.1:8551", "jwt": "jwt"}}
    publishing = EngineOptions(listen=LISTEN, jwt=Path("jwt"), flashblocks_ws=("::1", 1112))
    assert publishing.for_core()["engine"]["flashblocks_ws"] == "[::1]:1112"
    assert EngineOptions().for_core() == {}


def test_flashblocks_without_a_driver_are_rejected() -> None:
    with pytest.raises(SettingsError, match="flashblocks_ws needs engine"):
        EngineOptions(flashblocks_ws=("127.0.0.1", 1112))


@pytest.mark.parametrize("half", [{"listen": LISTEN}, {"jwt": Path("jwt")}])
def test_half_of_the_pair_is_rejected(half: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="belong together"):
        EngineOptions(**half)  # type: ignore[arg-type]
