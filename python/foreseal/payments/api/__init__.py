"""The merchant's ledger over HTTP."""
