"""Every promise of a run, checked offline, and each with one bit changed: see `campaign`."""
