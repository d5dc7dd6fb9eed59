"""Who stops us when our own robot goes wrong? An access-limiting proxy that shares no code with it."""
