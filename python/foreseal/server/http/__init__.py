"""HTTP requests, common to both transports: the handler, rules for headers, limits on connections."""
