"""Background work of the service: reconciliation, webhooks and the feed."""
