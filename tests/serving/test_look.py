import pytest
from starlette.applications import Starlette

from joro.manager.pages_look import Look as ManagersLook
from joro.portal.look import Look as PortalsLook
from joro.serving.look import Look
from tests.portal.conftest import ask

LOOKS = [PortalsLook("web"), ManagersLook("web")]


@pytest.mark.parametrize("look", LOOKS)
def test_the_style_of_a_program_stands_behind_what_is_common(look: Look) -> None:
    style = ask(Starlette(routes=look.routes), "/style.css").text
    assert style.index("--ground:") < style.index("@media (prefers-color-scheme") < style.index("main {")
    assert style.count("background: var(--ground);\n  color: var(--ink);") == 1


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_names_the_version_of_its_style(look: Look) -> None:
    text = bytes(look.page("problem.html", problem="<b>", remedy="").body).decode()
    assert 'href="/style.css?' in text
    assert "&lt;b&gt;" in text


def test_two_programs_have_two_styles_and_one_icon() -> None:
    portal, manager = (Starlette(routes=look.routes) for look in LOOKS)
    assert ask(portal, "/style.css").text != ask(manager, "/style.css").text
    assert ask(portal, "/icon.svg").text == ask(manager, "/icon.svg").text
    assert ask(portal, "/icon.svg").headers["content-type"] == "image/svg+xml"
