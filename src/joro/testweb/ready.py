"""Which answers are kept ready?

In:    answers as they are made.
Out:   the same ones again, without making them anew, as long as they are true.
Never: holds more bytes than allowed; the least recently used go first, they can always be made again.
"""

from __future__ import annotations

from collections import OrderedDict

from joro.testweb.answer import Answer

Key = tuple[int, bytes, bool]  # host number, target, whether gzip is welcome


class Ready:
    """Answers by key, bounded by bytes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._answers: OrderedDict[Key, Answer] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Key, now: float) -> Answer | None:
        """The kept answer, unless the page has changed since."""
        answer = self._answers.get(key)
        if answer is None or answer.until <= now:
            return None
        self._answers.move_to_end(key)
        return answer

    def put(self, key: Key, answer: Answer) -> None:
        """Keep an answer."""
        old = self._answers.pop(key, None)
        if old is not None:
            self.bytes -= len(old.wire)
        self._answers[key] = answer
        self.bytes += len(answer.wire)
        while self.bytes > self._limit_bytes:
            _, oldest = self._answers.popitem(last=False)
            self.bytes -= len(oldest.wire)
