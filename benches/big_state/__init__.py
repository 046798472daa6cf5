"""Steps, reads and memory over states of up to ten million accounts, also with less memory than state."""
