"""Feed readers with failing connections and nodes, compared with the journal: see README.md in the folder above."""
