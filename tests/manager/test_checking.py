import pytest

from joro.coordinate.beat import Beat, Changes, Effort, Link, Post
from joro.manager.checking import flaw


def beat(*posts: Post) -> Beat:
    return Beat("tokyo", "identity", 1_000.0, posts=list(posts))


def naming(name: str) -> list[Post]:
    """Posts that name a server, each in another place."""
    return [
        Post(1, changes=[Changes(name, [(b"k", b"v")])]),
        Post(1, released=[name]),
        Post(1, efforts=[Effort(name, 1, 1, 1)]),
    ]


@pytest.mark.parametrize("name", ["http://a.example", "https://a.example:8443", "http://a.example#3"])
def test_servers_and_parts_of_them_are_taken(name: str) -> None:
    assert [flaw(beat(post)) for post in naming(name)] == ["", "", ""]


@pytest.mark.parametrize(
    "name",
    [
        *("x#1", "", "garbage", "\0", "http://", "ftp://a.example", "http://A.example", "http://a.example/"),
        *("http://a.example#", "http://a.example#x", "http://a.example#03", "http://a.example#1#2"),
        f"http://a.example#{'9' * 5_000}",
        f"http://{'a.' * 200}example",
    ],
)
def test_what_is_no_server_is_refused_wherever_it_is_named(name: str) -> None:
    assert all("is no server" in flaw(beat(post)) for post in naming(name))


@pytest.mark.parametrize(
    "link",
    [
        Link("http://a.example/", 0),
        Link("http://a.example/x?y", 255, 255, "http://b.example/"),
        Link("http://a.example/feed", 1, 0, "http://b.example/", "feed"),
        Link("http://a.example/s.xml", 1, 0, "http://b.example/", "sitemap", True, "c.example"),
        Link("HTTP://A.example", 1, 0, "http://b.example"),  # another version's spelling, maybe
        Link(f"http://{'a.' * 200}example/", 1),  # pages do link there
    ],
)
def test_links_that_can_be_followed_are_taken(link: Link) -> None:
    assert flaw(beat(Post(1, links=[link]))) == ""


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        (Link("junk", 1), "'junk' is no page"),
        (Link("", 1), "'' is no page"),
        (Link("ftp://a.example/", 1), "is no page"),
        (Link("http://a.example/", 1, 0, "nowhere"), "'nowhere' is no page"),
        (Link(f"http://a.example/{'x' * 200_000}", 1), "is no page"),
        *((Link("http://a.example/", hops), "cannot be followed") for hops in (-1, 256, 2**70)),
        *((Link("http://a.example/", 1, hops), "cannot be followed") for hops in (-1, 256)),
        (Link("http://a.example/", 1, home="x" * 1_001), "cannot be followed"),
        (Link("http://a.example/", 1, 0, "http://b.example/", "\0"), "cannot be followed"),
        (Link("http://a.example/", 1, 0, "http://b.example/", "x" * 50), "cannot be followed"),
    ],
)
def test_links_that_nobody_can_follow_are_refused(link: Link, problem: str) -> None:
    assert problem in flaw(beat(Post(1, links=[Link("http://c.example/", 1), link])))


def test_efforts_that_add_up_to_more_than_there_can_be_are_refused() -> None:
    usual, huge = Effort("http://a.example", 3, 60_000, 900), Effort("http://a.example", 1, 9 * 10**14, 1)
    assert flaw(beat(Post(1, efforts=[usual] * 1_000))) == ""
    assert "efforts" in flaw(beat(Post(1, efforts=[huge, usual]), Post(2, efforts=[huge])))
