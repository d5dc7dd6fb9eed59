"""What would happen, if we collected for months with other sockets, orders or policies?"""
