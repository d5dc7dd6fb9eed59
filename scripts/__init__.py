"""What do the make targets call? The demo, the check, the set-up, and the writer of docs/reference/."""
