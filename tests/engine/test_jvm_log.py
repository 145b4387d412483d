from __future__ import annotations

import re

import pytest

from frazil.engine.jvm_log import SECRET, log4j_properties


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("x.password -> changeit, x -> 1", "x.password -> [hidden], x -> 1"),
        ('password="a\\"b;c" user="me"', 'password=[hidden] user="me"'),
        ('password="cut off', "password=[hidden]"),
        ("s3.secret-access-key=abc)", "s3.secret-access-key=[hidden])"),
        (
            'kafka.sasl.jaas.config -> org.x.PlainLoginModule required username="u" password="a;\\"b"; y -> 2',
            "kafka.sasl.jaas.config -> [hidden] y -> 2",
        ),
        ("Authorization: Bearer abc.def, x", "Authorization: [hidden], x"),
        ("header.x-api-key=abc ssl.key.passphrase=d", "header.x-api-key=[hidden] ssl.key.passphrase=[hidden]"),
        ("the password is not known", "the password is not known"),
    ],
)
def test_values_of_secret_keys_are_hidden(text: str, hidden: str) -> None:
    """Java and Python read the pattern in the same way."""
    assert re.sub(SECRET, r"\1[hidden]", text) == hidden


def test_the_pattern_is_in_the_layout_of_every_line() -> None:
    lines = log4j_properties().splitlines()
    (layout,) = [line for line in lines if line.startswith("appender.stderr.layout.pattern")]
    assert "%replace{%m%n%ex}{" + SECRET.replace("\\", "\\\\") + "}{$1[hidden]}" in layout
    assert not {"{", "}"} & set(SECRET), "Log4j would end the pattern there"
    assert "logger.http0.filter.least.level = info" in lines
