import pytest

from joro.archive.hosts import hosts_like
from joro.errors import UsageError


def test_an_expression_that_would_keep_python_busy_for_ever_costs_nothing() -> None:
    assert not hosts_like("(a+)+$")("a" * 200 + "!")


def test_names_are_compared_whatever_their_case_and_anywhere() -> None:
    assert hosts_like(r"\.AC\.jp$")("www.a.ac.jp")
    assert not hosts_like(r"^ac\.jp$")("www.a.ac.jp")
    assert hosts_like("")("anything.example")


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?=a)", "a" * 2_001])
def test_what_is_no_expression_is_said_in_a_line(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"--host = .* is no regular expression"):
        hosts_like(pattern, "--host")
