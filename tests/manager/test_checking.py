import pytest

from joro.coordinate.beat import Beat, Changes, Effort, Post
from joro.manager.checking import flaw


def beat(*posts: Post) -> Beat:
    return Beat("tokyo", "identity", 1_000.0, posts=list(posts))


@pytest.mark.parametrize("name", ["http://a.example", "https://a.example:8443", "http://a.example#3"])
def test_servers_and_parts_of_them_are_taken(name: str) -> None:
    assert flaw(beat(Post(1, changes=[Changes(name, [(b"k", b"v")])]))) == ""


@pytest.mark.parametrize(
    "name", ["x#1", "", "garbage", "http://", "ftp://a.example", "http://A.example", "http://a.example/"]
)
def test_what_is_no_server_is_refused(name: str) -> None:
    assert "is no server" in flaw(beat(Post(1, changes=[Changes(name, [(b"k", b"v")])])))


def test_efforts_that_add_up_to_more_than_there_can_be_are_refused() -> None:
    usual, huge = Effort("http://a.example", 3, 60_000, 900), Effort("http://a.example", 1, 9 * 10**14, 1)
    assert flaw(beat(Post(1, efforts=[usual] * 1_000))) == ""
    assert "efforts" in flaw(beat(Post(1, efforts=[huge, usual]), Post(2, efforts=[huge])))
