"""Readers of the feed whose connections and node are killed, compared with the journal: see README.md beside."""
