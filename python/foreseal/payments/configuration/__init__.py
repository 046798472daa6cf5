"""`pay.toml`: configuration of the `foreseal pay` commands."""

from foreseal.payments.configuration.file import Configuration, ConfigurationError, read
from foreseal.payments.configuration.secrets import Secret, SecretError
from foreseal.payments.configuration.sections import (
    DatabaseSection,
    FacilitatorSection,
    MerchantSection,
    NodeSection,
    PayeeSection,
    PolicySection,
    ServeSection,
    TokenSection,
    WebhookSection,
)
from foreseal.payments.configuration.template import template

__all__ = [
    "Configuration",
    "ConfigurationError",
    "DatabaseSection",
    "FacilitatorSection",
    "MerchantSection",
    "NodeSection",
    "PayeeSection",
    "PolicySection",
    "Secret",
    "SecretError",
    "ServeSection",
    "TokenSection",
    "WebhookSection",
    "read",
    "template",
]
