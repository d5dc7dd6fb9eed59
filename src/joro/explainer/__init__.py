"""Why is this page in the collection, or why not, and what happens to it next?"""
