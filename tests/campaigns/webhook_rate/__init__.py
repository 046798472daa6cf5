"""Rate of webhooks to a slow target, and their processor time."""
