"""Who collects what, where robots on many machines collect one web?

`beats` is the heart: what happens when a robot calls. `routing` says who gets a server, `failover` what
becomes of those of a silent robot, `planning` whether some should move, `journals` what the next owner must
know. All of it is in the control store (`joro.store.control`), so any of two managers can answer any robot.
"""
