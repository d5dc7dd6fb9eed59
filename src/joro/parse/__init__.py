"""What does a page say, and where does it point? Pure: bytes in, values out."""
