from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from joro import config
from joro.config import Archive, Config, Politeness, Refresh, Scope
from joro.errors import ConfigError
from joro.fetch.politeness import Manners
from joro.robot.renewal import Renewal
from joro.store.collection import Collection

A = "http://a.example"


class Written:
    """A settings file, and all that was taken over from it."""

    def __init__(self, path: Path) -> None:
        self.collection = Collection.create(path, Config())
        self.taken: list[Config] = []
        self.renewal = Renewal(self.collection, self.taken.append)

    def write(self, text: str) -> str:
        """What is told of new content when it is looked at twice."""
        (self.collection.path / config.FILE_NAME).write_text(text)
        assert self.renewal.look() == ""
        return self.renewal.look()


def test_new_settings_are_taken_over_and_told(tmp_path: Path) -> None:
    file = Written(tmp_path / "c")
    told = file.write('[politeness]\ninterval_s = 5\n[scope]\nexclude = ["*/x/*"]\n')
    assert told == (
        "joro.toml has changed; taken over: politeness.interval_s = 5.0, scope.exclude = ['*/x/*']"
    )
    assert [each.politeness.interval_s for each in file.taken] == [5.0]
    assert file.renewal.look() == ""


def test_what_has_to_wait_is_named(tmp_path: Path) -> None:
    file = Written(tmp_path / "c")
    changed = Config(archive=Archive(warc_limit_bytes=5_000), politeness=Politeness(interval_s=3.0))
    assert file.write(config.render(changed)) == (
        "joro.toml has changed; taken over: politeness.interval_s = 3.0;"
        " takes effect at the next start: archive.warc_limit_bytes"
    )


def test_a_file_still_being_written_is_not_gone_by(tmp_path: Path) -> None:
    file = Written(tmp_path / "c")
    path = file.collection.path / config.FILE_NAME
    path.write_text("")
    assert file.renewal.look() == ""
    path.write_text("[politeness]\ninterval_s = 7\n")
    assert file.renewal.look() == ""
    assert file.taken == []
    assert "interval_s = 7.0" in file.renewal.look()
    assert len(file.taken) == 1


@pytest.mark.parametrize("text", ["[politeness\n", "[politeness]\ninterval_s = -1\n", "[politness]\n"])
def test_a_broken_file_is_told_once_and_changes_nothing(tmp_path: Path, text: str) -> None:
    file = Written(tmp_path / "c")
    told = file.write(text)
    assert told.endswith("; the settings from before stay in force")
    assert "\n" not in told
    assert file.taken == []
    assert file.renewal.look() == ""
    assert "interval_s = 4.0" in file.write("[politeness]\ninterval_s = 4\n")


def test_a_file_that_is_gone_is_told_and_one_that_is_back_is_read(tmp_path: Path) -> None:
    file = Written(tmp_path / "c")
    path = file.collection.path / config.FILE_NAME
    path.unlink()
    assert file.renewal.look() == ""
    assert "cannot be read" in file.renewal.look()
    assert "interval_s = 4.0" in file.write("[politeness]\ninterval_s = 4\n")


def test_a_file_with_other_words_and_the_same_settings_says_nothing(tmp_path: Path) -> None:
    assert Written(tmp_path / "c").write("# nothing but defaults\n") == ""


def test_hours_that_cannot_be_leave_the_old_ones(tmp_path: Path) -> None:
    manners = Manners(Politeness(window="mon 00:00-02:00 UTC"))
    with pytest.raises(ConfigError):
        manners.renew(Politeness(window="someday"))
    assert manners.next_open(A, 1_000_000.0) > 1_000_000.0


def test_what_the_command_line_changed_is_no_change_of_the_file(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", Config())
    adapted = replace(collection, config=Config(refresh=Refresh(enabled=True)))
    renewal = Renewal(adapted, lambda _: None)
    (tmp_path / "c" / config.FILE_NAME).write_text(config.render(Config(scope=Scope(hops=3))))
    assert [renewal.look(), renewal.look()] == ["", "joro.toml has changed; taken over: scope.hops = 3"]
