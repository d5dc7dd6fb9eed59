"""Sitemaps are found where robots.txt says, else in the usual place."""

from joro.discover.sitemaps import SITEMAP_LIMIT, listed_sitemaps, sitemap_sources

SERVER = "http://a.example"
INDEX = f"{SERVER}/index.xml"


def test_robots_txt_names_them() -> None:
    named = [f"{SERVER}/b.xml", f"{SERVER}/a.xml", f"{SERVER}/b.xml"]
    assert sitemap_sources(SERVER, named) == [f"{SERVER}/b.xml", f"{SERVER}/a.xml"]


def test_else_the_usual_place_is_tried_if_that_is_wanted() -> None:
    assert sitemap_sources(SERVER, []) == ["http://a.example/sitemap.xml"]
    assert sitemap_sources(SERVER, [], guess=False) == []


def test_an_index_leads_to_sitemaps_of_its_own_domain() -> None:
    listed = ["http://www.a.example/1.xml", "http://b.example/2.xml", INDEX, "http://www.a.example/1.xml"]
    assert listed_sitemaps(INDEX, listed, known=0, depth=0) == ["http://www.a.example/1.xml"]


def test_an_index_kept_elsewhere_leads_to_sitemaps_there_and_of_the_domain_it_speaks_for() -> None:
    index, listed = "http://c.example/a/index.xml", ["http://c.example/a/1.xml", f"{SERVER}/2.xml"]
    assert listed_sitemaps(index, [*listed, "http://b.example/3.xml"], 0, 0, "a.example") == listed


def test_an_index_of_indexes_of_indexes_ends() -> None:
    assert listed_sitemaps(INDEX, [f"{SERVER}/2.xml"], known=0, depth=1) == [f"{SERVER}/2.xml"]
    assert listed_sitemaps(INDEX, [f"{SERVER}/3.xml"], known=0, depth=2) == []


def test_a_server_has_no_more_sitemaps_than_the_limit() -> None:
    listed = [f"{SERVER}/{n}.xml" for n in range(10)]
    assert listed_sitemaps(INDEX, listed, known=SITEMAP_LIMIT - 3, depth=0) == listed[:3]
    assert listed_sitemaps(INDEX, listed, known=SITEMAP_LIMIT + 3, depth=0) == []
