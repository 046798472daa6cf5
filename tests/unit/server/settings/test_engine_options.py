"""Options of a node under a driver, and the combinations that are rejected."""

from pathlib import Path
from typing import Any

import pytest

from foreseal.server.settings.cluster_options import ClusterOptions
from foreseal.server.settings.engine_options import EngineOptions
from foreseal.server.settings.setting import SettingsError

LISTEN = ("127.0.0.1", 8551)
ENGINE = EngineOptions(listen=LISTEN, jwt=Path("jwt"))
JOURNAL = ClusterOptions(journal="etcd://10.0.0.1:2379/p")
FOLLOW = ClusterOptions(follow=("tls://10.0.0.2:8550",))


def check(options: EngineOptions, cluster: ClusterOptions | None = None, **changes: bool) -> None:
    options.check_node(cluster or ClusterOptions(), **({"development": False, "produce": True} | changes))


def test_core_receives_the_listeners_that_have_an_address() -> None:
    assert ENGINE.for_core() == {"engine": {"listen": "127.0.0.1:8551", "jwt": "jwt"}}
    publishing = EngineOptions(listen=LISTEN, jwt=Path("jwt"), flashblocks_ws=("::1", 1112))
    assert publishing.for_core()["engine"]["flashblocks_ws"] == "[::1]:1112"
    assert EngineOptions().for_core() == {}


def test_flashblocks_without_a_driver_are_rejected() -> None:
    with pytest.raises(SettingsError, match="flashblocks_ws needs engine"):
        EngineOptions(flashblocks_ws=("127.0.0.1", 1112))


@pytest.mark.parametrize("half", [{"listen": LISTEN}, {"jwt": Path("jwt")}], ids=["listen", "jwt"])
def test_half_of_the_pair_is_rejected(half: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="engine and engine_jwt belong together"):
        EngineOptions(**half)


@pytest.mark.parametrize(
    ("cluster", "changes", "words"),
    [
        (None, {"development": True}, "a development chain has no driver"),
        (None, {"produce": False}, "needs produce"),
        (JOURNAL, {}, "engine and journal exclude each other"),
        (FOLLOW, {}, "engine and follow exclude each other"),
    ],
    ids=["development", "produce", "journal", "follow"],
)
def test_options_that_exclude_a_driver_are_rejected(
    cluster: ClusterOptions | None, changes: dict[str, bool], words: str
) -> None:
    with pytest.raises(SettingsError, match=words):
        check(ENGINE, cluster, **changes)
    check(EngineOptions(), cluster, **changes)


def test_driver_of_a_producing_node_is_accepted() -> None:
    check(ENGINE)
