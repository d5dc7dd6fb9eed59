"""When is which page due, and whose turn is it? Pure: no clock, no network, no tables."""
