"""The `asgi` transport: the handler as an ASGI application, and granian, which serves it."""
