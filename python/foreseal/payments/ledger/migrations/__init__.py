"""Alembic's migrations of the payments database. `ledger.schema` runs them."""
