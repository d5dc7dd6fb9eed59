"""What do the pages of the test web say, and in which language?

In:    a language, a topic, a seed; or a `random.Random`.
Out:   realistic text of eleven languages, made from the word lists and grammars in `words/`: see
       `prose.Prose` for writing, `grammar` for how the word files read, `rare.rare_word` for needles.
Never: the same text twice by accident, different text twice from one seed, or a line written by others.
"""

from joro.testweb.prose.prose import Prose
from joro.testweb.prose.rare import rare_word
from joro.testweb.prose.topics import LANGUAGES, STYLES, TOPICS

__all__ = ["LANGUAGES", "STYLES", "TOPICS", "Prose", "rare_word"]
