import gzip
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joro.archive import merge as merging
from joro.archive.background import BackgroundMerge
from joro.archive.check_merged import check_merged, remake
from joro.archive.index import CaptureIndex
from joro.archive.merge import Entry, changing, digest_line, is_due, merge, read_manifest, to_join
from joro.archive.names import sorted_index, warcs
from joro.archive.runs import Run, RunWriter, merged
from joro.errors import ArchiveError, CollectionError
from tests.archive.examples import NOON, visit, writer


def closed_warcs(directory: Path, count: int, pages: int = 5) -> None:
    for _ in range(count):
        archive = writer(directory)
        begin = len(warcs(directory)) * 1_000
        for page in range(pages):
            archive.append(
                visit(f"http://h{page % 3}.example/{page}", b"%d" % page, time=NOON + begin + page)
            )
        archive.close()


def own_lines(directory: Path) -> list[bytes]:
    """What the WARCs' own indexes say."""
    indexes = (sorted_index(directory / name).read_bytes() for name in warcs(directory))
    return sorted(b"".join(indexes).splitlines(keepends=True))


def merged_lines(directory: Path) -> list[bytes]:
    paths = sorted((directory / "merged").glob("*.cdxj.gz"))
    return sorted(b"".join(gzip.decompress(path.read_bytes()) for path in paths).splitlines(keepends=True))


def test_merged_runs_hold_every_line_once(tmp_path: Path) -> None:
    for count in (1, 3, 2, 9):
        closed_warcs(tmp_path, count)
        assert merge(tmp_path) == count
        assert merged_lines(tmp_path) == own_lines(tmp_path)
        assert check_merged(tmp_path) == []
    assert merge(tmp_path) == 0


def test_a_warc_that_is_still_open_is_left_alone(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 1)
    archive = writer(tmp_path)
    archive.append(visit())
    archive.flush()
    assert merge(tmp_path) == 1
    assert len(list(CaptureIndex(tmp_path).all())) == 6


def test_runs_are_few_and_lines_are_seldom_written_again(tmp_path: Path) -> None:
    written = 0
    for number in range(32):
        closed_warcs(tmp_path, 1, pages=2)
        before = {entry.name for entry in read_manifest(tmp_path).runs}
        merge(tmp_path)
        runs = read_manifest(tmp_path).runs
        written += sum(entry.lines for entry in runs if entry.name not in before)
        assert len(runs) <= (number + 1).bit_length()
    assert written <= 64 * 5  # log2(32)


@given(st.lists(st.integers(0, 1_000), max_size=12))
def test_after_joining_every_run_is_larger_than_all_smaller_ones_together(sizes: list[int]) -> None:
    runs = [Entry(f"{number}", size, ()) for number, size in enumerate(sizes)]
    while small := to_join(runs):
        runs = [entry for entry in runs if entry not in small]
        runs.append(Entry(f"{small[0].name}+", sum(entry.lines for entry in small), ()))
    left = sorted(entry.lines for entry in runs)
    assert all(size > sum(left[:place]) for place, size in enumerate(left) if place)
    assert sum(left) == sum(sizes)


@given(st.lists(st.integers(1, 1_000), min_size=1, max_size=200))
def test_runs_stay_few_whatever_sizes_come(sizes: list[int]) -> None:
    runs: list[Entry] = []
    writings = total = 0
    for number, size in enumerate(sizes):
        runs.append(Entry(f"{number}", size, ()))
        writings, total = writings + size, total + size
        if small := to_join(runs):
            joined = Entry(f"{number}+", sum(entry.lines for entry in small), ())
            runs = [*(entry for entry in runs if entry not in small), joined]
            writings += joined.lines
        assert len(runs) <= total.bit_length()
    assert writings <= total * (total.bit_length() + 1)


def test_runs_that_grow_slowly_are_joined() -> None:
    assert len(to_join([Entry(f"{size}", size, ()) for size in (1, 2, 3, 4)])) == 4
    assert len(to_join([Entry(f"{size}", size, ()) for size in (1, 2, 4, 8)])) == 0
    assert len(to_join([Entry(f"{size}", size, ()) for size in (1, 2, 3, 9)])) == 3


@settings(deadline=None)
@given(st.lists(st.lists(st.binary(max_size=3), min_size=1), max_size=6), st.integers(1, 4))
def test_merging_is_sorting(sources: list[list[bytes]], size: int) -> None:
    def batches(lines: list[bytes]) -> list[list[bytes]]:
        return [lines[start : start + size] for start in range(0, len(lines), size)]

    found = [line for batch in merged(iter(batches(sorted(lines))) for lines in sources) for line in batch]
    assert found == sorted(line for lines in sources for line in lines)


@settings(max_examples=30, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 999), max_size=900),
    prefix=st.sampled_from([b"", b"1", b"12", b"123", b"123 ", b"x"]),
    start=st.sampled_from([b"", b"125", b"5"]),
)
def test_a_run_gives_the_lines_that_begin_so(
    numbers: list[int], prefix: bytes, start: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    stem = tmp_path_factory.mktemp("run") / "run"
    lines = sorted(b"%03d 7 {}\n" % number for number in numbers)
    run = RunWriter(stem)
    for line in lines:
        run.add([line])
    run.close()
    found = list(Run.open(stem).beginning(prefix, start))
    assert found == [line for line in lines if line.startswith(prefix) and line >= start]


def test_a_digest_line_is_read_from_any_spelling() -> None:
    ours = b'jp,a)/ 2026 {"url":"http://a.jp/","digest":"sha1:X","filename":"w.warc.gz"}\n'
    other = b'jp,a)/ 2026 {"filename": "w.warc.gz", "digest": "sha1:X"}\n'
    quoted = b'jp,a)/ 2026 {"url":"\\"digest\\":\\"","digest":"sha1:X","filename":"w.warc.gz"}\n'
    assert {digest_line(line) for line in (ours, other, quoted)} == {b"sha1:X jp,a)/ 2026 w.warc.gz\n"}
    assert digest_line(b'jp,a)/ 2026 {"digest":"","filename":"w"}\n') == b""


def test_many_digests_are_sorted_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "SORTED_LINES", 4)
    closed_warcs(tmp_path, 5)
    merge(tmp_path)
    assert check_merged(tmp_path) == []
    assert len(list((tmp_path / "merged").glob("*.digests.gz"))) == 1


def test_what_is_forgotten_is_in_no_run(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 4)
    merge(tmp_path)
    gone = warcs(tmp_path)[:2]
    with changing(tmp_path, gone):
        pass
    content = b"".join(gzip.decompress(path.read_bytes()) for path in (tmp_path / "merged").glob("*.gz"))
    assert [name.encode() in content for name in warcs(tmp_path)] == [False, False, True, True]
    assert check_merged(tmp_path) == []
    assert len(list(CaptureIndex(tmp_path).all())) == 20
    with changing(tmp_path, warcs(tmp_path)):
        assert read_manifest(tmp_path).runs == ()
    assert merge(tmp_path) == 4


def dying_merge(directory: Path, step: int) -> bool:
    """A merge that is killed at its n-th step; whether it came to its end before that."""
    pid = os.fork()
    if pid == 0:
        left = [step]

        def die(event: str, _: object) -> None:
            if event in ("open", "os.rename", "os.remove", "os.mkdir", "mmap.__new__", "fcntl.flock"):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), 9)

        sys.addaudithook(die)
        merge(directory)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.slow
def test_a_merge_killed_at_any_step_loses_nothing(tmp_path: Path) -> None:
    step, ended = 0, False
    while not ended:
        step += 1
        directory = tmp_path / str(step)
        directory.mkdir()
        closed_warcs(directory, 3, pages=2)
        merge(directory)
        closed_warcs(directory, 2, pages=3)  # as many lines again: both runs are joined
        ended = dying_merge(directory, step)
        assert len(set(CaptureIndex(directory).all())) == 12
        assert len(list(CaptureIndex(directory).versions("http://h0.example/0"))) == 5
        assert check_merged(directory) == []
        merge(directory)
        assert merged_lines(directory) == own_lines(directory)
        assert len(list((directory / "merged").iterdir())) == 2 + 4 * len(read_manifest(directory).runs)
    assert step > 20


def test_two_merges_do_not_meet(tmp_path: Path) -> None:
    with merging.alone(tmp_path), pytest.raises(CollectionError, match="others work in"):
        merge(tmp_path)


def test_nobody_merges_what_is_being_changed(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 2)
    merge(tmp_path)
    changed = sorted_index(tmp_path / warcs(tmp_path)[0])
    with changing(tmp_path, [warcs(tmp_path)[0]]):
        with pytest.raises(CollectionError):
            merge(tmp_path)
        changed.write_bytes(b"")
    merge(tmp_path)
    assert check_merged(tmp_path) == []
    assert len(list(CaptureIndex(tmp_path).all())) == 5


def test_a_change_waits_for_the_merge_under_way(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 1)
    merge(tmp_path)
    entered = threading.Event()

    def change() -> None:
        with changing(tmp_path, warcs(tmp_path)):
            entered.set()

    with merging.alone(tmp_path):
        waiting = threading.Thread(target=change)
        waiting.start()
        assert not entered.wait(0.1)
    waiting.join()
    assert entered.is_set()


def test_an_unsorted_index_is_refused(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 1)
    index = sorted_index(tmp_path / warcs(tmp_path)[0])
    index.write_bytes(b"".join(sorted(index.read_bytes().splitlines(keepends=True), reverse=True)))
    with pytest.raises(ArchiveError, match="is not sorted; run: joro archive check --mend"):
        merge(tmp_path)


@pytest.mark.parametrize("file", ["000001.cdxj.gz", "000001.cdxj.idx", "000001.digests.gz", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_every_kind_of_damage_is_found_and_mended(tmp_path: Path, file: str, damage: str) -> None:
    closed_warcs(tmp_path, 3, pages=200)
    merge(tmp_path)
    path = tmp_path / "merged" / file
    content = path.read_bytes()
    middle = len(content) // 2
    if damage == "flip":
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    elif damage == "cut":
        path.write_bytes(content[:middle])
    else:
        path.unlink()
    if (file, damage) != ("manifest.json", "gone"):  # an archive never merged is whole
        assert check_merged(tmp_path)
    remake(tmp_path)
    assert check_merged(tmp_path) == []
    assert len(list(CaptureIndex(tmp_path).all())) == 600


def test_other_lines_than_those_of_the_warc_are_found(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 1)
    merge(tmp_path)
    index = sorted_index(tmp_path / warcs(tmp_path)[0])
    index.write_bytes(index.read_bytes()[: index.read_bytes().index(b"\n") + 1])
    assert check_merged(tmp_path) == [f"000001: has other lines than the index of {index.stem}"]
    index.unlink()
    assert check_merged(tmp_path) == [f"000001: has lines of {index.stem}.warc.gz, whose index is gone"]


def test_a_merge_is_due_when_eight_warcs_wait(tmp_path: Path) -> None:
    closed_warcs(tmp_path, 7)
    assert not is_due(tmp_path)
    closed_warcs(tmp_path, 1)
    assert is_due(tmp_path)
    merge(tmp_path)
    assert not is_due(tmp_path)


def test_a_robot_has_merges_done_by_another_process(tmp_path: Path) -> None:
    code = f"from pathlib import Path; from joro.archive.merge import merge; merge(Path({str(tmp_path)!r}))"
    background = BackgroundMerge(tmp_path, [sys.executable, "-c", code])
    closed_warcs(tmp_path, 7)
    assert not background.consider()
    closed_warcs(tmp_path, 1)
    assert background.consider()
    assert not background.consider()
    while background.is_at_work():
        time.sleep(0.01)
    assert len(read_manifest(tmp_path).runs) == 1
    assert not background.consider()
    assert len(list(CaptureIndex(tmp_path).versions("http://h0.example/0"))) == 8
