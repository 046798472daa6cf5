"""Webhook targets: hostile URLs and addresses are rejected, unless the operator allows the network."""

import ipaddress

import pytest

from foreseal.payments.configuration.webhook_targets import (
    ANY_NETWORK,
    PUBLIC_ONLY,
    AddressPolicy,
    TargetForbidden,
    check_url,
    parse_networks,
)

FORBIDDEN_ADDRESSES = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254
172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.171 192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1
198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 192.31.196.1 192.52.193.1
192.175.48.1 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:10::1 2001:20::1 2001:db8::1
2002:7f00:1:: 2002:a00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 ff05::2
4000::1
""".split()

HOSTILE_URLS = [
    # Other schemes and forms.
    "",
    "hooks",
    "//shop.example/",
    "http:shop.example",
    "http:/shop.example/",
    "http:///shop.example",
    "http://",
    "ftp://shop.example/",
    "file:///etc/passwd",
    "gopher://shop.example/",
    "javascript:alert(1)",
    "ws://shop.example/",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/",
    # User names, fragments, white space, control characters and backslashes.
    "http://user@shop.example/",
    "http://user:password@shop.example/",
    "http://shop.example@127.0.0.1/",
    "http://shop.example:80@127.0.0.1/",
    "http://127.0.0.1#@shop.example/",
    "http://shop.example/#fragment",
    "http://shop.example\\@127.0.0.1/",
    "http:\\\\127.0.0.1/",
    "http://shop.example/ a",
    " http://shop.example/",
    "http://shop.example/\n",
    "http://shop.example/\r\nHost: x",
    "http://sh\top.example/",
    "http://shop.example/\0",
    "http://shop.example\x7f/",
    # Ports.
    "http://shop.example:/",
    "http://shop.example:0/",
    "http://shop.example:22/",
    "http://shop.example:25/",
    "http://shop.example:65536/",
    "http://shop.example:-1/",
    "http://shop.example:8080x/",
    "http://shop.example:80:80/",
    # Malformed hosts.
    "http://[::1",
    "http://::1]/",
    "http://::1/",
    "http://[]/",
    "http://[127.0.0.1]/",
    "http://[v1.x]/",
    "http://[fe80::1%25eth0]/",
    "http://[::1]x/",
    "http://shop.example./",
    "http://shop..example/",
    "http://.shop.example/",
    "http://-shop.example/",
    "http://shop-.example/",
    "http://shop%2eexample/",
    "http://127.0.0.1%2f.shop.example/",
    "http://shop,example/",
    "http://*.example/",
    f"http://{'a' * 64}.example/",
    f"http://{'a.' * 130}example/",
    f"http://shop.example/{'a' * 500}",
    # International names and look-alikes.
    "http://müller.example/",
    "http://ⓛocalhost/",
    "http://127。0。0。1/",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://shop.example/ü",
    # Local names.
    "http://localhost/",
    "http://LOCALHOST:8080/",
    "http://localhost./",
    "http://a.localhost/",
    "http://printer.local/",
    "http://metadata.google.internal/",
    "http://router.home.arpa/",
    "http://db.corp/",
    "http://intranet/",
    # IPv4 in other forms.
    "http://127.0.0.1./",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0X7F.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://127.0.0.01/",
    "http://127.0.0.0x1/",
    "http://0/",
    "http://0x/",
    "http://256.0.0.1/",
    "http://1.2.3.4.5/",
    "http://8.8.8/",
    "http://shop.example.0x7f/",
    *(f"http://{f'[{text}]' if ':' in text else text}/" for text in FORBIDDEN_ADDRESSES),
    *(f"https://{f'[{text}]' if ':' in text else text}:8443/a?b=c" for text in FORBIDDEN_ADDRESSES[:10]),
]


def test_there_are_enough_forms() -> None:
    assert len(set(HOSTILE_URLS)) == len(HOSTILE_URLS) > 140


@pytest.mark.parametrize("url", HOSTILE_URLS, ids=ascii)
def test_hostile_url_is_rejected(url: str) -> None:
    with pytest.raises(TargetForbidden):
        check_url(url, PUBLIC_ONLY)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://shop.example/hooks", "shop.example"),
        ("http://shop.example", "shop.example"),
        ("HTTPS://Shop.Example:443/?a=%20", "shop.example"),
        ("http://shop.example:80/", "shop.example"),
        ("https://shop.example:8443/hooks?token=@", "shop.example"),
        ("https://xn--mller-kva.example/", "xn--mller-kva.example"),
        ("https://a_b.shop.example/", "a_b.shop.example"),
        ("https://8.8.8.8/", "8.8.8.8"),
        ("https://[2606:4700::1111]:65535/", "2606:4700::1111"),
        ("https://[64:ff9b::808:808]/", "64:ff9b::808:808"),
        ("https://localhost.example/", "localhost.example"),
        ("https://1.shop.example/", "1.shop.example"),
    ],
)
def test_public_url_is_accepted(url: str, host: str) -> None:
    assert check_url(url, PUBLIC_ONLY) == host


@pytest.mark.parametrize("text", FORBIDDEN_ADDRESSES)
def test_forbidden_address_is_rejected_unless_its_network_is_allowed(text: str) -> None:
    with pytest.raises(TargetForbidden, match="is not a public address: the operator may allow it"):
        PUBLIC_ONLY.check(text)
    AddressPolicy(ANY_NETWORK).check(text)


@pytest.mark.parametrize(
    "text", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808"]
)
def test_public_address_is_accepted(text: str) -> None:
    PUBLIC_ONLY.check(text)


def test_every_private_network_of_the_standard_library_is_forbidden() -> None:
    """Networks that Python classifies as not global are rejected, at their first and last address."""
    private = [network for family in (4, 6) for network in _private(family)]
    assert len(private) > 20
    for network in private:
        for address in (network[0], network[-1]):
            if not address.is_global:
                with pytest.raises(TargetForbidden):
                    PUBLIC_ONLY.check(str(address))


def _private(family: int) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    constants = ipaddress._IPv4Constants if family == 4 else ipaddress._IPv6Constants  # type: ignore[attr-defined]
    return list(constants._private_networks)


def test_allowed_network_extends_the_policy_only_by_itself() -> None:
    policy = AddressPolicy(parse_networks(["127.0.0.0/8", "fd00::/8"]))
    for url in ("http://127.0.0.1:81/", "http://[fd00::1]/", "http://[::ffff:127.0.0.1]/", "http://hooks:8080/"):
        check_url(url, policy)
    for url in ("http://10.0.0.1/", "http://[fe80::1]/", "http://2130706433/", "http://user@127.0.0.1/"):
        with pytest.raises(TargetForbidden):
            check_url(url, policy)
    with pytest.raises(ValueError, match="has host bits set"):
        parse_networks(["10.0.0.1/8"])


def test_text_that_is_no_address_is_rejected() -> None:
    for text in ("", "localhost", "127.1", "fe80::1%eth0", "0x7f000001"):
        with pytest.raises(TargetForbidden):
            PUBLIC_ONLY.check(text)
