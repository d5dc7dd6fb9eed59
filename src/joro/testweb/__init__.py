"""How would a crawler fare on an internet whose truth is known?

A deterministic synthetic internet on loopback. Read the modules in this order:

  settings, chance       what is wanted; how everything is random and yet always the same
  roles, sizes, names, plan      who is on this web
  paths, graph, change   which pages there are, where they lead, when they change
  texts, look, pages     what they say (words and grammars: `prose`)
  robots, sitemaps, news, redirects, traps, hostile, big, moods      what special hosts do
  site                   which answer a request gets
  request, answer, ready, log, server      how it is read, sent, kept, noted
  dns                    how names become addresses
  truth, politeness, witness, oracle       what is planned, and what was seen
  web, running           all of it, alive
"""
