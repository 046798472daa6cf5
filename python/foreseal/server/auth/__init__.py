"""Access control: API keys, tiers of callers, and origins of web pages."""
