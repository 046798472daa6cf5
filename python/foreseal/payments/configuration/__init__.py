"""`pay.toml`: configuration of the `foreseal pay` commands."""

from foreseal.payments.configuration.checkout_section import CheckoutSection
from foreseal.payments.configuration.destinations import (
    ConfiguredDestination,
    same_pair,
)
from foreseal.payments.configuration.file import Configuration, ConfigurationError, read
from foreseal.payments.configuration.secrets import Secret, SecretError
from foreseal.payments.configuration.sections import (
    PolicySection,
    ServeSection,
    TokenSection,
    WebhookSection,
)
from foreseal.payments.configuration.template import template

__all__ = [
    "CheckoutSection",
    "Configuration",
    "ConfigurationError",
    "ConfiguredDestination",
    "PolicySection",
    "Secret",
    "SecretError",
    "ServeSection",
    "TokenSection",
    "WebhookSection",
    "read",
    "same_pair",
    "template",
]
