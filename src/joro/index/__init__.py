"""Which documents answer a query? Terms, segments, queries, snippets."""
