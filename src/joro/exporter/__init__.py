"""How is a part of a collection handed on? As WARC, WACZ, or the directories of S1, for any selection."""
