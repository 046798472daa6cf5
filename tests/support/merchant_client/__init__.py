"""Generator of the clients of the merchant's HTTP API, from its OpenAPI document."""
