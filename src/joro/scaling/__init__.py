"""How does the speed of collecting grow with units, processes and machines?"""
