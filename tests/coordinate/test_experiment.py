from pathlib import Path

import numpy as np
import pytest

from joro.coordinate.assign import NOBODY
from joro.coordinate.experiment import Experiment, read, write
from joro.errors import UsageError

ONE = Experiment(
    ("r1", "r2"),
    ("http://a.jp", "http://b.jp", "http://c.jp"),
    np.array([10.0, 0.1 + 0.2, 5.0]),
    np.array([1, 2, 3]),
    np.array([[1.5, np.inf, 2.0], [3.0, 0.25, 4.0]]),
    {"random": np.array([0, 1, NOBODY])},
    {"random": np.array([15.0, np.nan, np.nan])},
)


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write(ONE, tmp_path)
    back = read(tmp_path)
    assert (back.robots, back.servers) == (ONE.robots, ONE.servers)
    for name in ("sizes_kb", "urls", "distances"):
        assert np.array_equal(getattr(back, name), getattr(ONE, name))
    assert back.owners["random"].tolist() == [0, 1, NOBODY]
    assert np.array_equal(back.spent_ms["random"], ONE.spent_ms["random"], equal_nan=True)


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("servers.csv", "http://d.jp,much,1", "'much' is no kb"),
        ("servers.csv", "http://d.jp,-1,1", "'-1' is no kb"),
        ("servers.csv", "http://d.jp,1e308,1", "'1e308' is no kb"),
        ("servers.csv", "http://d.jp", "line 5 has 1 columns"),
        ("servers.csv", "http://a.jp,1,1", "line 5: http://a.jp is listed twice"),
        ("distances.csv", "r1,http://x.jp,1", "'http://x.jp' is not known"),
        ("distances.csv", "r1,http://b.jp,nan", "'nan' is no ms_per_kb"),
        ("distances.csv", "r1,http://b.jp,0", "nobody is at no distance from http://b.jp"),
        ("shares.csv", "random,http://a.jp,r2,", "http://a.jp is owned twice"),
        ("shares.csv", "random,http://c.jp,r9,", "'r9' is not known"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, file: str, line: str, said: str) -> None:
    write(ONE, tmp_path)
    with (tmp_path / file).open("a") as stream:
        stream.write(line + "\r\n")
    with pytest.raises(UsageError, match=said):
        read(tmp_path)


def test_a_directory_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    write(ONE, tmp_path)
    (tmp_path / "shares.csv").unlink()
    (tmp_path / "shares.csv").mkdir()
    with pytest.raises(UsageError, match=r"shares\.csv cannot be read"):
        read(tmp_path)


def test_a_directory_that_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"servers\.csv cannot be read"):
        read(tmp_path)
