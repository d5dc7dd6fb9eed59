"""How do archived captures become tables that anyone can query?"""
