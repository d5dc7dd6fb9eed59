import re

import pytest

from joro import errors
from joro.errors import BadUrl, ConfigError, JoroError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, JoroError)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_tells_problem_and_remedy_in_one_line(kind: type[JoroError]) -> None:
    error = kind("the thing\nis broken\r\n", remedy="mend it")
    assert str(error) == "the thing is broken ; mend it"
    assert (error.problem, error.remedy) == ("the thing\nis broken\r\n", "mend it")


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_a_sentence_and_an_exit_code_other_than_success(kind: type[JoroError]) -> None:
    assert kind.__doc__
    assert kind.exit_code in (1, 2)


def test_a_remedy_cannot_be_forgotten() -> None:
    with pytest.raises(TypeError, match="remedy"):
        JoroError("the thing is broken")  # type: ignore[call-arg]


def test_mistakes_on_the_command_line_exit_with_2_and_others_with_1() -> None:
    assert BadUrl("x", remedy="y").exit_code == 2
    assert ConfigError("x", remedy="y").exit_code == 1


def test_the_drawn_tree_is_the_real_one() -> None:
    drawn = re.findall(r"^ {4}(.*?)([A-Z]\w+)\s", errors.__doc__ or "", flags=re.MULTILINE)
    assert {name for _, name in drawn} == {kind.__name__ for kind in KINDS}
    above = ""
    for branch, name in drawn[1:]:
        above = above if branch.startswith("│") else name
        base = above if branch.startswith("│") else "JoroError"
        assert getattr(errors, name).__base__.__name__ == base
