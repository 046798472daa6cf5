"""Generator of the Python client of the merchant's HTTP API, and of the document for the TypeScript client."""
