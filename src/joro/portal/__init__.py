"""Where do people search and read the collection? Pages, API, replay of captures."""
