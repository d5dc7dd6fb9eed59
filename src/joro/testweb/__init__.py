"""A deterministic synthetic internet on loopback, with an oracle that knows the truth."""
