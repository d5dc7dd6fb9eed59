from joro.testweb.prose.korean import inflect


def test_the_particle_follows_the_final_consonant() -> None:
    assert [inflect("what", "책", form) for form in ("topic", "subject", "object", "with")] == [
        "책은",
        "책이",
        "책을",
        "책과",
    ]
    assert [inflect("what", "지도", form) for form in ("topic", "subject", "object", "with")] == [
        "지도는",
        "지도가",
        "지도를",
        "지도와",
    ]


def test_a_deed_spells_its_forms_out() -> None:
    assert inflect("do", "읽습니다/읽었습니다/읽는", "past") == "읽었습니다"
