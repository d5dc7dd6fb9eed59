"""Which pages should we know of? Seeds, sitemaps, feeds, front pages."""
