from collections.abc import Callable

def scan(
    payload: bytes,
    server: str,
    directory: str,
    join: Callable[[str], str | None],
    resolve: Callable[[str], str],
    texts: list[str] | None,
    /,
) -> tuple[dict[str, bool], list[tuple[str, dict[str, str]]], str | None] | None: ...
