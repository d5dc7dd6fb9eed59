import subprocess
from pathlib import Path

from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from joro.archive.cdx import REVISIT
from joro.archive.check import check
from joro.archive.read import read_at, response_at
from joro.archive.recover import rebuild
from joro.model import Known, Truncated, Visit
from tests.archive.examples import NOON, URL, lookup, only, visit, writer
from tests.archive.test_warc import SCRIPTS

BODY = b"<p>still the same"


def written(directory: Path, *later: Visit) -> Path:
    """A first capture, and later ones that know of it."""
    archive = writer(directory)
    first = archive.append(visit(body=BODY))
    for number, each in enumerate(later, 1):
        archive.append(replace(each, time=NOON + 60 * number, known=Known(first.time, first.digest)))
    archive.close()
    return only(directory)


def not_modified() -> Visit:
    answered = visit(head=b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', body=b"")
    assert answered.response is not None
    return replace(answered, response=replace(answered.response, status=304))


def types(warc: Path) -> list[str]:
    with warc.open("rb") as file:
        return [record.rec_type for record in ArchiveIterator(file) if record.rec_type != "request"]


def test_the_same_bytes_again_are_written_as_a_revisit(tmp_path: Path) -> None:
    assert types(written(tmp_path, visit(body=BODY))) == ["warcinfo", "response", "revisit"]


def test_not_modified_is_written_as_a_revisit(tmp_path: Path) -> None:
    assert types(written(tmp_path, not_modified())) == ["warcinfo", "response", "revisit"]


def test_other_bytes_are_written_whole(tmp_path: Path) -> None:
    assert types(written(tmp_path, visit(body=b"<p>new"))) == ["warcinfo", "response", "response"]


def test_a_body_cut_short_is_written_whole(tmp_path: Path) -> None:
    cut = visit(body=BODY, truncated=Truncated.TIME)
    assert types(written(tmp_path, cut)) == ["warcinfo", "response", "response"]


def test_a_first_visit_never_is_a_revisit(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    archive.append(not_modified())
    archive.close()
    assert types(only(tmp_path)) == ["warcinfo", "response"]


def test_a_revisit_names_the_capture_it_speaks_of(tmp_path: Path) -> None:
    with written(tmp_path, visit(body=BODY)).open("rb") as file:
        (fields,) = (each.rec_headers for each in ArchiveIterator(file) if each.rec_type == "revisit")
    assert fields["WARC-Refers-To-Target-URI"] == URL
    assert fields["WARC-Refers-To-Date"] == "2023-11-14T22:13:20.000000Z"
    assert fields["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def test_every_version_reads_with_the_bytes_of_the_first(tmp_path: Path) -> None:
    written(tmp_path, visit(body=BODY), not_modified())
    versions = lookup(tmp_path, URL)
    assert [capture.mime for capture in versions] == ["text/html", REVISIT, REVISIT]
    assert [response_at(tmp_path, capture).body for capture in versions] == [BODY, BODY, BODY]
    assert len({capture.digest for capture in versions}) == 1


def test_a_revisit_whose_bytes_are_gone_has_its_own_head_and_no_body(tmp_path: Path) -> None:
    archive = writer(tmp_path)
    capture = archive.append(replace(not_modified(), known=Known(NOON - 60, "sha1:" + "A" * 32)))
    archive.close()
    response = response_at(tmp_path, capture)
    assert (response.status, response.body) == (304, b"")


def test_both_other_readers_and_our_check_find_revisits_sound(tmp_path: Path) -> None:
    warc = written(tmp_path, visit(body=BODY), not_modified(), visit(body=b"<p>new"))
    assert not check(tmp_path, warc.name).problems
    # Not fastwarc's --verify-payloads: it looks for the payload in the revisit itself.
    for command in (["warcio", "check"], ["fastwarc", "check", "--quiet"]):
        ran = subprocess.run([SCRIPTS / command[0], *command[1:], warc], capture_output=True, text=True)
        assert (ran.returncode, "FAIL" in ran.stdout, "digest failed" in ran.stdout) == (0, False, False)


def test_an_index_made_anew_lists_revisits_as_the_old_one_did(tmp_path: Path) -> None:
    warc = written(tmp_path, visit(body=BODY), not_modified())
    before = lookup(tmp_path, URL)
    assert rebuild(warc) == 3
    assert lookup(tmp_path, URL) == before
    assert read_at(warc, before[2].offset).type == "revisit"
