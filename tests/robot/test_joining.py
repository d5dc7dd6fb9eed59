from pathlib import Path

import pytest

from joro.config.cooperate import Cooperate
from joro.errors import UsageError
from joro.robot.joining import token_of


@pytest.mark.parametrize("text", ["secret\n", "# ours\ntokyo secret\nosaka other\n"])
def test_a_robot_finds_its_token_in_a_file_of_one_or_of_several(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)
    assert token_of(Cooperate(token_file=str(tmp_path / "tokens")), "tokyo") == "secret"


@pytest.mark.parametrize("text", ["合言葉\n", "tokyo 合言葉\n", "\ufeffsecret\n"])
def test_a_token_that_cannot_be_sent_is_refused_with_its_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"the token in .*tokens has characters.*robot add tokyo printed"):
        token_of(Cooperate(token_file=str(tmp_path / "tokens")), "tokyo")
    with pytest.raises(UsageError, match=r"cooperate\.token has characters"):
        token_of(Cooperate(token="合言葉"), "tokyo")
