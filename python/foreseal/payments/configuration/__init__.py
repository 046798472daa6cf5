"""`pay.toml`: configuration of the `foreseal pay` commands."""

from foreseal.payments.configuration.checkout_section import CheckoutSection
from foreseal.payments.configuration.destinations import (
    ConfiguredDestination,
    DestinationName,
    DestinationSection,
    same_pair,
)
from foreseal.payments.configuration.file import Configuration, ConfigurationError, read
from foreseal.payments.configuration.secrets import Secret, SecretError
from foreseal.payments.configuration.sections import (
    DashboardSection,
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
    "CheckoutSection",
    "Configuration",
    "ConfigurationError",
    "ConfiguredDestination",
    "DashboardSection",
    "DatabaseSection",
    "DestinationName",
    "DestinationSection",
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
    "same_pair",
    "template",
]
