"""Secrets, held in a separate file or in an environment variable, never in the configuration itself."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_keys.constants import SECPK1_N

from foreseal.payments.typed_data import bytes32

# Permission bits that let users other than the owner access a file.
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SecretError(ValueError):
    """A secret is missing, or other users can read it. The message names its location, never its value."""


@dataclass(frozen=True, slots=True)
class Secret:
    """Location of a secret: either a file or an environment variable."""

    file: Path | None
    """File that only its owner can read (mode 600)."""
    variable: str | None
    """Name of an environment variable."""

    def __post_init__(self) -> None:
        if (self.file is None) == (self.variable is None):
            raise SecretError("set either a file or an environment variable")

    def text(self, environment: Mapping[str, str]) -> str:
        """Return the secret without surrounding white space. Raises `SecretError`."""
        if self.variable is not None:
            secret = environment.get(self.variable, "").strip()
            if not secret:
                raise SecretError(f"the environment variable {self.variable} is not set")
            return secret
        assert self.file is not None
        try:
            mode = self.file.stat().st_mode
            if mode & _OTHERS:
                raise SecretError(f"{self.file} has mode {stat.S_IMODE(mode):o}, other users may access it: chmod 600")
            secret = self.file.read_text(encoding="ascii").strip()
        except OSError as error:
            raise SecretError(f"cannot read {self.file}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise SecretError(f"{self.file} must be ASCII text") from None
        if not secret:
            raise SecretError(f"{self.file} is empty")
        return secret

    def account(self, environment: Mapping[str, str]) -> LocalAccount:
        """Return the account of a private key, 32 bytes in hexadecimal. Raises `SecretError`."""
        text = self.text(environment)
        wrong = SecretError(f"{self.file or self.variable} must contain a private key: 32 bytes in hexadecimal")
        try:
            key = bytes32(text, "key")
        except ValueError:  # its message would repeat the secret
            raise wrong from None
        # Some versions of eth-keys accept a key outside of the curve's order.
        if not 0 < int.from_bytes(key, "big") < SECPK1_N:
            raise wrong
        account: LocalAccount = Account.from_key(key)
        return account
