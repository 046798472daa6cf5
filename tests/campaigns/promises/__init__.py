"""Every pre-confirmation of a run, verified offline, and each with one bit flipped: see `campaign`."""
