"""Feed readers with failing connections and nodes, compared with the journal: see tests/README.md."""
