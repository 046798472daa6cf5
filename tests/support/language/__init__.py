"""Check of the language of comments, docstrings and documentation pages."""
