"""How do our programs answer browsers? One look for all pages, and the way onto the network."""
