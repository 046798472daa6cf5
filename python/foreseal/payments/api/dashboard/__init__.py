"""The dashboard at `/dashboard`: its pages, and the sessions of its users."""
