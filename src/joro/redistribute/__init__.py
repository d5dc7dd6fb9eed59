"""How does a collection reach others, and only those that are registered?"""
