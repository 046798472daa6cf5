"""WebSocket connections, common to both transports."""
