"""Reads what metadata records tell, as somebody else would who knows how Heritrix writes them."""

from joro.archive.metadata import Facts
from joro.archive.read import Record

KINDS = {
    "L a/@href": "a",
    "L area/@href": "area",
    "E frame/@src": "frame",
    "L link/@href": "link",
    "L meta/@content": "refresh",
    "R Location:": "redirect",
    "L link[@rel='canonical']/@href": "canonical",
}


def facts_in(record: Record) -> Facts:
    """The facts that a metadata record tells."""
    single: dict[str, str] = {}
    links: list[tuple[str, str]] = []
    for line in record.block.decode().split("\r\n")[:-1]:
        name, _, value = line.partition(": ")
        if name == "outlink":
            url, _, context = value.partition(" ")
            links.append((url, KINDS[context]))
        else:
            single[name] = value
    return Facts(
        tuple(links),
        single.get("charsetForLinkExtraction", ""),
        single.get("language", ""),
        single.get("via", ""),
        int(single["hopsFromSeed"]) if "hopsFromSeed" in single else None,
        int(single.get("fetchTimeMs", "0")),
    )
