"""The HTML reference of the API at `GET /docs`, rendered from the OpenAPI document."""
