from pathlib import Path

from joro.model import Capture
from joro.scaling.table import keep, line


def test_cells_stand_below_each_other() -> None:
    assert line(("units", "limit"), width=6) == " units   limit"
    assert len(line(("50", "units"))) == len(line(("150", "processor")))


def test_what_was_measured_so_far_is_kept_after_each_run(tmp_path: Path) -> None:
    one = Capture("http://a.example/", 1.0, 200, "text/html", "sha1:A", "a.warc.gz", 0, 10)
    for count in (1, 2):
        keep([one] * count, ("status", "warc"), tmp_path / "t.csv")
        assert (tmp_path / "t.csv").read_text().splitlines() == ["status,warc", *["200,a.warc.gz"] * count]
