import pytest

from joro.testweb.prose.columns import fill, inflector
from joro.testweb.prose.grammar import GrammarError


def test_a_form_is_filled_from_the_columns() -> None:
    assert fill("$3 zu $2", "kauft/kaufen/einen Hut") == "einen Hut zu kaufen"


def test_a_missing_column_is_the_first_one() -> None:
    assert fill("$2", "die Suppe") == "die Suppe"


def test_a_form_nobody_wrote_down_is_refused() -> None:
    with pytest.raises(GrammarError, match="no line 'form what"):
        inflector({"what.acc": "$2"})("what", "der Hut/den Hut", "gen")
