"""A node of several processes, from its clients' view."""
