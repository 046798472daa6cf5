"""State that the processes of a node share: heartbeats, metrics, rate limits, a listening socket."""
