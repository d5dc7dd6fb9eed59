import pytest

from scripts.compiled import choose_flags


def a_compiler(tmp_path_factory: pytest.TempPathFactory, says: str) -> str:
    program = tmp_path_factory.mktemp("bin") / "cc"
    program.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_gcc_sees_all_modules_as_one_program(tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = {"CC": a_compiler(tmp_path_factory, "Copyright (C) 2026 Free Software Foundation, Inc.")}
    choose_flags(environment)
    assert "-flto" in environment["CFLAGS"]
    assert "-flto" in environment["LDFLAGS"]


def test_another_compiler_is_told_nothing_it_might_not_know(tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = {"CC": a_compiler(tmp_path_factory, "clang version 19")}
    choose_flags(environment)
    assert environment["CFLAGS"] == "-g0"
    assert "LDFLAGS" not in environment


def test_whoever_has_flags_of_their_own_keeps_them() -> None:
    environment = {"CFLAGS": "-O1"}
    choose_flags(environment)
    assert environment == {"CFLAGS": "-O1"}
