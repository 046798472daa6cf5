"""Orders: authorizations, captures, cancellations and their reconciliation with the chain."""
