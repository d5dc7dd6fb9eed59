"""How do other crawlers do the same crawl? One small program per peer, and the ring they meet in.

`contenders` says who takes part and how each is tuned, `ring` is the private network they run in, `meter`
measures one run, `install` fetches the peers into `.peers/`. `with_*` drive one peer each.
"""
