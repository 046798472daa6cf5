"""Validation of external input by pydantic: shared value types, and sentences for errors."""

from foreseal.payments.validation.error_messages import describe
from foreseal.payments.validation.locations import enclosing_model, field_path, models
from foreseal.payments.validation.value_types import AccountAddress, Bytes32, ParsedText

__all__ = ["AccountAddress", "Bytes32", "ParsedText", "describe", "enclosing_model", "field_path", "models"]
