"""Where people search, read and steer the collection: pages and API."""
