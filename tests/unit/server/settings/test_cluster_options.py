"""Options of a node that works with other machines: rules of their combinations, and the advertised addresses."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.server import Settings, SettingsError
from foreseal.server.settings import ListenSettings, merge_sources
from foreseal.server.settings.cluster_options import ClusterOptions

FILE = Path("file")
MEMBER = {"journal": "etcd://10.0.0.1:2379/p", "feed_listen": "10.0.0.1:8550"}


def settings(host: str = "127.0.0.1", **options: Any) -> Settings:
    return Settings(Path("x"), cluster=ClusterOptions(**options), listen=ListenSettings(host=host))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"standby": True}, "standby needs journal"),
        (MEMBER | {"follow": ("tls://10.0.0.2:8550",)}, "journal and follow exclude each other"),
        ({"journal": MEMBER["journal"]}, "journal needs feed_listen"),
        (MEMBER | {"feed_listen": "0.0.0.0:8550"}, "other nodes cannot reach 0.0.0.0:8550: set feed_advertise"),
        (MEMBER | {"feed_listen": "[::]:8550"}, r"other nodes cannot reach \[::\]:8550: set feed_advertise"),
        (MEMBER | {"feed_advertise": "[::0]:8550"}, r"other nodes cannot reach \[::0\]:8550: set feed_advertise"),
        ({"journal_cert": FILE}, "journal_cert and journal_key belong together"),
        ({"journal_key": FILE}, "journal_cert and journal_key belong together"),
        ({"journal_cert": FILE, "journal_key": FILE}, "journal_cert needs journal_ca"),
        ({"journal_user": "a"}, "journal_user and journal_password_file belong together"),
        ({"feed_cert": FILE}, "feed_cert and feed_key belong together"),
    ],
)
def test_conflicting_options_are_rejected(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        settings(**options)


def test_half_of_a_pair_names_its_source() -> None:
    environment = {"FORESEAL_DATADIR": "/d", "FORESEAL_FEED_CERT": "/c"}
    with pytest.raises(SettingsError, match="feed_cert and feed_key belong together: FORESEAL_FEED_CERT"):
        merge_sources("run", environment).settings()


def test_development_chain_works_alone() -> None:
    with pytest.raises(SettingsError, match="a development chain works alone"):
        Settings(Path("x"), development=True, cluster=ClusterOptions(**MEMBER))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
@pytest.mark.parametrize(
    ("options", "url"),
    [
        (MEMBER, "http://10.0.0.1:8545"),
        (MEMBER | {"feed_advertise": "node.example:9"}, "http://node.example:8545"),
        (MEMBER | {"feed_listen": "0.0.0.0:8550", "feed_advertise": "[fd00::1]:8550"}, "http://[fd00::1]:8545"),
        ({"follow": ("tls://10.0.0.2:8550",), "feed_listen": "10.0.0.3:8550"}, "http://10.0.0.3:8545"),
        ({"follow": ("tls://10.0.0.2:8550",)}, ""),
        ({"follow": ("tls://10.0.0.2:8550",), "feed_listen": "0.0.0.0:8550"}, ""),
    ],
)
def test_server_on_every_address_is_advertised_at_the_host_of_the_feed(
    host: str, options: dict[str, Any], url: str
) -> None:
    assert advertised(settings(host, **options)) == url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("10.0.0.9", "http://10.0.0.9:8545"),
        ("fd00::9", "http://[fd00::9]:8545"),
        ("a.example", "http://a.example:8545"),
    ],
)
def test_server_on_one_address_is_advertised_there(host: str, url: str) -> None:
    assert advertised(settings(host, **MEMBER)) == url


@pytest.mark.parametrize("text", ["10.0.0.1", "::1:8550", "10.0.0.1:65536", "http://10.0.0.1:8550", "a/b:1"])
def test_invalid_feed_address_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match=r"FORESEAL_FEED_LISTEN: .* is not an address: write HOST:PORT"):
        merge_sources("run", {"FORESEAL_DATADIR": "/d", "FORESEAL_FEED_LISTEN": text})


def advertised(node_settings: Settings) -> str:
    """Return the URL that the core gets."""
    return str(orjson.loads(node_settings.for_core())["cluster"]["rpc"])
