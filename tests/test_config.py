import contextlib
import dataclasses
import math
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joro import config
from joro.config import Config, Fetch, Override, PerServer, Politeness, Scope, reading
from joro.config.declare import MOST_WHOLE
from joro.errors import ConfigError

SECTIONS = {spec.name: type(getattr(Config(), spec.name)) for spec in dataclasses.fields(Config)}


def strategy(kind: type, spec: dataclasses.Field[typing.Any]) -> st.SearchStrategy[typing.Any]:
    """Any value the setting may have."""
    hint = typing.get_type_hints(kind)[spec.name]
    least, most, form = (spec.metadata[word] for word in ("least", "most", "form"))
    if form is not None:
        return st.from_regex(form.pattern, fullmatch=True)
    plain: dict[object, st.SearchStrategy[typing.Any]] = {
        bool: st.booleans(),
        str: st.text(),
        int: st.integers(least, MOST_WHOLE if most is None else most),
        float: st.floats(least, most, allow_nan=False),
        tuple[str, ...]: st.lists(st.text(max_size=9), max_size=3).map(tuple),
        dict[str, str]: st.dictionaries(st.text(), st.text(), max_size=4),
        dict[str, int]: st.dictionaries(st.text(), st.integers(), max_size=4),
    }
    return plain[hint] if hint in plain else st.lists(override(kind), max_size=2).map(tuple)


def override(kind: type) -> st.SearchStrategy[Override]:
    """Any rule for some servers."""
    servers = st.lists(
        st.from_regex(r"(https?://)?(\*\.)?[a-z]{1,5}(:80)?", fullmatch=True), min_size=1, max_size=2
    )
    changeable = [spec for spec in dataclasses.fields(kind) if not spec.metadata["whole"]]
    changes = st.fixed_dictionaries({}, optional={spec.name: strategy(kind, spec) for spec in changeable})
    return st.builds(Override, servers.map(tuple), changes)


def section(kind: type) -> st.SearchStrategy[typing.Any]:
    return st.builds(kind, **{spec.name: strategy(kind, spec) for spec in dataclasses.fields(kind)})


def agrees(settings: Config) -> bool:
    return settings.refresh.least_interval_s <= settings.refresh.most_interval_s


def beating(settings: Config) -> Config:
    """The same where a lease outlasts the time between two beats."""
    manager = settings.manager
    if manager.beat_s < manager.lease_s:
        return settings
    return dataclasses.replace(settings, manager=dataclasses.replace(manager, beat_s=0.5))


configs = (
    st.builds(Config, **{name: section(kind) for name, kind in SECTIONS.items()}).map(beating).filter(agrees)
)


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        config.parse(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@given(configs)
def test_what_is_written_reads_back_as_the_same(settings: Config) -> None:
    assert config.parse(config.render(settings)) == settings


@given(st.text())
def test_any_text_is_a_config_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(config.parse(text), Config)


def test_an_empty_file_is_the_default() -> None:
    assert config.parse("") == Config()


def test_the_default_is_written_as_comments_only() -> None:
    lines = config.render(Config()).splitlines()
    assert [line for line in lines if line and line[0] not in "#["] == []
    assert "# timeout_s = 60.0" in lines


def test_what_differs_from_the_default_stands_without_comment() -> None:
    lines = config.render(Config(fetch=Fetch(timeout_s=5.0))).splitlines()
    assert "timeout_s = 5.0" in lines
    assert "# connect_timeout_s = 15.0" in lines


def test_uncommenting_every_default_changes_nothing() -> None:
    text = config.render(Config())
    keys = {f"# {key} =" for _, key, _, _ in config.settings()}
    lines = [line[2:] if any(map(line.startswith, keys)) else line for line in text.splitlines()]
    assert config.parse("\n".join(lines)) == Config()


def test_quotes_stay_readable() -> None:
    text = config.render(Config(fetch=Fetch(proxy='a "b"\\c\n')))
    assert 'proxy = "a \\"b\\"\\\\c\\u000a"' in text.splitlines()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[fetch]\nsocket = 3",
            "joro.toml: unknown key fetch.socket = 3; did you mean sockets?",
        ),
        (
            "[fetsch]\nsockets = 3",
            "joro.toml: unknown key fetsch = {'sockets': 3}; did you mean fetch?",
        ),
        (
            "[portal]\nzzz = 3",
            "joro.toml: unknown key portal.zzz = 3; known here: address, port",
        ),
        (
            "[scope]\nhops = 'two'",
            "joro.toml: scope.hops = 'two' has the wrong type; write a whole number",
        ),
        (
            "[scope]\nhops = 2.0",
            "joro.toml: scope.hops = 2.0 has the wrong type; write a whole number",
        ),
        (
            "[scope]\nhops = true",
            "joro.toml: scope.hops = True has the wrong type; write a whole number",
        ),
        (
            "[fetch]\ntimeout_s = '5'",
            "joro.toml: fetch.timeout_s = '5' has the wrong type; write a number",
        ),
        (
            "[fetch]\ntimeout_s = true",
            "joro.toml: fetch.timeout_s = True has the wrong type; write a number",
        ),
        (
            "[politeness]\nrobots_txt = 1",
            "joro.toml: politeness.robots_txt = 1 has the wrong type; write true or false",
        ),
        (
            "[identity]\nname = 7",
            "joro.toml: identity.name = 7 has the wrong type; write a text in quotes",
        ),
        (
            "[identity]\nname = 'my robot/2'",
            "joro.toml: identity.name = 'my robot/2' cannot be; write letters, - and _ only",
        ),
        (
            "[identity]\nname = ''",
            "joro.toml: identity.name = '' cannot be; write letters, - and _ only",
        ),
        (
            '[identity]\ncontact = "a\\nX-Other: b"',
            "joro.toml: identity.contact = 'a\\nX-Other: b' cannot be; write printable ASCII",
        ),
        *(
            (
                f"[{section}]\naddress = ''",
                f"joro.toml: {section}.address = '' cannot be; "
                "write an address, like 127.0.0.1, or 0.0.0.0 for everyone",
            )
            for section in ("breaker", "manager", "portal")
        ),
        (
            "[fetch]\nsockets = 0",
            "joro.toml: fetch.sockets = 0 is too small; write 1 or more",
        ),
        (
            "[scope]\nhops = 256",
            "joro.toml: scope.hops = 256 is too large; write 255 or less",
        ),
        (
            "[fetch]\ntimeout_s = nan",
            "joro.toml: fetch.timeout_s = nan is too small; write 0.1 or more",
        ),
        (
            "[scope]\ndomains = 'a.jp'",
            'joro.toml: scope.domains = \'a.jp\' is not a list; write ["one", "two"]',
        ),
        (
            "[scope]\ndomains = [1]",
            "joro.toml: scope.domains = 1 has the wrong type; write a text in quotes",
        ),
        (
            "[fetch]\nhosts = ['a.jp']",
            "joro.toml: fetch.hosts = ['a.jp'] is not a table; write { \"key\" = value }",
        ),
        (
            "[fetch.ports]\n80 = '8080'",
            "joro.toml: fetch.ports.80 = '8080' has the wrong type; write a whole number",
        ),
        (
            "fetch = 3",
            "joro.toml: fetch = 3 is not a table; write it as [fetch]",
        ),
        (
            "[politeness]\nrules = 3",
            "joro.toml: politeness.rules = 3 is not a list of tables; write each as [[politeness.rules]]",
        ),
        (
            "[politeness.rules]\ninterval_s = 3",
            "joro.toml: politeness.rules = {'interval_s': 3} is not a list of tables; "
            "write each as [[politeness.rules]]",
        ),
        (
            "[[politeness.rules]]\ninterval_s = 3",
            'joro.toml: politeness.rules[0] names no servers; write servers = ["*.example.jp"]',
        ),
        (
            "[[politeness.rules]]\nservers = ['http://a.example/x']",
            "joro.toml: politeness.rules[0].servers = 'http://a.example/x' is no server; "
            'write "example.jp", "*.example.jp", "http://one.example:8080" or "re:EXPRESSION"',
        ),
        (
            "[[politeness.rules]]\nservers = ['re:(']",
            "joro.toml: politeness.rules[0].servers: 're:(' is not a regular expression "
            "(missing ), unterminated subpattern at position 0); mend it",
        ),
        (
            "[[scope.rules]]\nservers = ['a']\n[[scope.rules]]\nservers = ['b']\nhop = 3",
            "joro.toml: unknown key scope.rules[1].hop = 3; did you mean hops?",
        ),
        (
            "[[scope.rules]]\nservers = ['a']\nhops = 256",
            "joro.toml: scope.rules[0].hops = 256 is too large; write 255 or less",
        ),
        (
            "[[politeness.rules]]\nservers = ['a']\nper_address = 2",
            "joro.toml: politeness.rules[0].per_address = 2 cannot differ between servers; "
            "set it in [politeness]",
        ),
        (
            "[refresh]\nmost_interval_s = 600",
            "joro.toml: refresh.least_interval_s = 3600 is more than most_interval_s = 600; "
            "lower the one or raise the other",
        ),
        (
            "[manager]\nlease_s = 2",
            "joro.toml: manager.beat_s = 2 is not less than lease_s = 2, so that robots would lose "
            "each lease before they ask again; lower the one or raise the other",
        ),
        (
            "sockets: 3",
            "joro.toml is not TOML (Expected '=' after a key in a key/value pair (at line 1, column 8)); "
            "mend that line",
        ),
    ],
)
def test_a_mistake_is_named_with_key_value_and_remedy(text: str, said: str) -> None:
    assert complaint(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "[fetch]\ntimeout_s = 1" + "0" * 400,
        "[fetch]\nsockets = 1" + "0" * 5_000,
        "x = " + "[" * 100_000,
        '"two\\nlines" = 1',
        "[scope]\nhops = 1979-05-27",
        '[cooperate]\nlog_at = "25:00"',
    ],
)
def test_absurd_values_are_mistakes_like_others(text: str) -> None:
    assert ";" in complaint(text)


def test_a_whole_number_will_do_for_a_duration_and_so_will_infinity() -> None:
    assert config.parse("[fetch]\ntimeout_s = 5").fetch.timeout_s == 5.0
    assert config.parse("[politeness]\nsuspend_after_s = inf").politeness.suspend_after_s == math.inf


def test_a_file_is_named_in_its_errors(tmp_path: Path) -> None:
    file = tmp_path / "joro.toml"
    file.write_text("[fetch]\nsockets = 0")
    with pytest.raises(ConfigError, match=f"^{file}: fetch.sockets = 0 is too small"):
        config.load(file)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_an_unreadable_file_is_a_config_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "joro.toml"
    file.write_bytes(content) if content else file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(file)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "joro.toml"
    file.write_bytes(b"\xef\xbb\xbf[scope]\r\nhops = 3\r\n")
    assert config.load(file).scope.hops == 3


def test_every_setting_says_why_and_every_number_with_a_unit_names_it() -> None:
    for _, key, value, why in config.settings():
        assert why, key
        assert not isinstance(value, float) or key.endswith(("_s", "_percent", "_mb")), key


def test_defaults_are_within_their_own_ranges_and_not_shared() -> None:
    one, two = Config(), Config()
    assert one.fetch.hosts is not two.fetch.hosts
    for kind in SECTIONS.values():
        for spec in dataclasses.fields(kind):
            reading.check(getattr(kind(), spec.name), spec, spec.name)


def test_settings_cannot_be_changed_in_passing() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().fetch.sockets = 3  # type: ignore[misc]


RULES = """
[politeness]
interval_s = 20
[[politeness.rules]]
servers = ["*.example.jp", "one.example"]
interval_s = 5
retry_limit = 9
[[politeness.rules]]
servers = ["http://www.example.jp:8080", "10.0.0.*", "[::1]"]
interval_s = 1
"""


@pytest.mark.parametrize(
    ("server", "interval_s", "retry_limit"),
    [
        ("http://www.example.jp", 5, 9),
        ("https://a.b.example.jp:8443", 5, 9),
        ("http://one.example:81", 5, 9),
        ("http://www.example.jp:8080", 1, 9),
        ("https://10.0.0.7:8443", 1, 2),
        ("http://[::1]", 1, 2),
        ("http://[::1]:8080", 1, 2),
        ("http://example.jp", 20, 2),
        ("https://www.example.jp:8080.example", 20, 2),
        ("http://xone.example", 20, 2),
        ("http://one.example.evil.com", 20, 2),
    ],
)
def test_rules_hold_for_the_servers_they_name_and_later_ones_win(
    server: str, interval_s: float, retry_limit: int
) -> None:
    settings = PerServer(config.parse(RULES).politeness).of(server)
    assert (settings.interval_s, settings.retry_limit) == (interval_s, retry_limit)


hosts = st.from_regex(r"[a-z]{1,3}(\.[a-z]{1,3}){0,2}", fullmatch=True)


@given(st.lists(hosts, min_size=1), hosts)
def test_no_rule_leaks_to_another_server(named: list[str], host: str) -> None:
    rule = Override(tuple(named), {"hops": 3})
    settings = PerServer(Scope(rules=(rule,))).of(f"http://{host}")
    assert settings.hops == (3 if host in named else 15)


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        (r"re:^https://", ["https://a.jp", "https://www2.b.jp:8443"]),
        (r"re:www\d+\.b\.jp\b", ["http://www1.b.jp", "https://www2.b.jp:8443"]),
        (r"re::8\d+$", ["https://www2.b.jp:8443"]),
    ],
)
def test_a_regular_expression_is_looked_for_anywhere_in_a_server(pattern: str, meant: list[str]) -> None:
    servers = ["http://a.jp", "https://a.jp", "http://www1.b.jp", "https://www2.b.jp:8443"]
    rules = PerServer(config.parse(f"[[scope.rules]]\nservers = ['c', '{pattern}']\nhops = 3").scope)
    assert [server for server in servers if rules.of(server).hops == 3] == meant


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("日本語.jp", ["http://xn--wgv71a119e.jp:8080"]),
        ("*.日本語.jp", ["https://www.xn--wgv71a119e.jp"]),
        ("http://日本語.jp:8080", ["http://xn--wgv71a119e.jp:8080"]),
        ("http://a.jp:80", ["http://a.jp"]),
        ("A.jp:443", ["https://a.jp"]),
        ("a.jp:80", ["http://a.jp", "https://a.jp:80"]),
    ],
)
def test_a_server_may_be_spelled_as_people_do(pattern: str, meant: list[str]) -> None:
    servers = ["http://a.jp", "https://a.jp", "https://a.jp:80"]
    servers += ["http://xn--wgv71a119e.jp:8080", "https://www.xn--wgv71a119e.jp"]
    rules = PerServer(config.parse(f"[[scope.rules]]\nservers = ['{pattern}']\nhops = 3").scope)
    assert [server for server in servers if rules.of(server).hops == 3] == meant


def test_an_asterisk_inside_a_name_that_dns_spells_otherwise_is_an_error() -> None:
    with pytest.raises(
        ConfigError, match=r"scope\.rules\[0\]\.servers: '日本\*' is no part of a host's name"
    ):
        config.parse("[[scope.rules]]\nservers = ['日本*.jp']\nhops = 3")


@pytest.mark.parametrize(
    "key", ["interval_s", "run_pause_s", "suspend_for_s", "retry_wait_s", "retry_after_limit_s"]
)
def test_no_server_can_be_promised_a_pause_without_end(key: str) -> None:
    with pytest.raises(ConfigError, match=f"politeness.{key} = inf is too large; write 31536000 or less"):
        config.parse(f"[politeness]\n{key} = inf")


def test_every_number_has_an_end_that_programs_below_us_can_hold() -> None:
    """Time limits without end overflowed in libcurl, and with such an interval a search never ended."""
    told = 0
    for section, kind in SECTIONS.items():
        for spec in dataclasses.fields(kind):
            if type(spec.default) not in (int, float) or spec.name == "suspend_after_s":
                continue
            for huge in [2 * 10**17] if type(spec.default) is int else ["inf", "1e300", "nan"]:
                with pytest.raises(ConfigError, match=rf"{section}\.{spec.name} = .* is too (large|small);"):
                    config.parse(f"[{section}]\n{spec.name} = {huge}")
                told += 1
    assert told > 100


def test_many_servers_share_few_settings() -> None:
    rules = PerServer(Politeness(rules=(Override(("*.jp",), {"interval_s": 3.0}),)))
    assert rules.of("http://a.jp") is rules.of("http://b.jp")
    assert rules.of("http://a.com") is rules.of("http://b.com")
