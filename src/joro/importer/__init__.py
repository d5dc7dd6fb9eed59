"""How do captures of others become ours? Read their files, archive what is in them, learn from it."""
