"""Check of the language of comments, docstrings, pages, help texts and messages, and of names."""
