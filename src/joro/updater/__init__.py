"""How does a robot become a newer one by itself, and the older one again when that fails?"""
