"""Hashes and written texts of schemas: they never move, for agreed files name them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from panbayes.schema.schema import Schema, dump_schema
from panbayes.tables.diabetes import diabetes_schema

GOLDEN = Path(__file__).parent / "golden"

EXPECTED = {
    "dates_and_mappings": (
        "42cb1ab65ffd9ba7f70c7e3576fc4ad5bdc799e2b00a24b4e2c584f26470e315",
        "21875aaa833216e312747507744b0986e0559c9cc064a37c86f439210c8badef",
    ),
    "drafted": (
        "bb6d07a717803cefe617f8832e7aeb5f2b82f7b7152ed8c8baf60339db252d7a",
        "94bbaa7a7c99227117e0dcd0432cb2aa07d15d4dd45690d8fb2d8c37251287db",
    ),
    "empty_markers": (
        "7ab28f0e1c43bced19c7f0468e6d6ee06622acb3f55d4b5daed867c839ad7d72",
        "bdaba91d525658686f2388233675ccf23bcdb2db9ac13be50e4908047c833ff9",
    ),
    "everything": (
        "ec3ff33eeda6bf9e3892eba1eea890c60052ee30bbf63632d0ea6e2a754804cb",
        "7ba969c2e24203aa852faa41e5ccef86b50838abf25b20396e2b85de2f3f06fc",
    ),
    "features": (
        "1c0d09c6d3cc32e02390a18b35528cf30452f8fe8300f3df0689939be3a78c74",
        "c3bcc2271e0e0b9957b6abc8db944ee3b244d8fd6bd9633face6ba4b80e09082",
    ),
    "plain": (
        "43a9e2df2efb36973dd23daf6c5c7fc71cef330902020c61cfb72d06dbc3b81d",
        "3e673de0099e00069ef034f163953b3d750d5be388d9a9cbb7f126199282c441",
    ),
    "diabetes": (
        "1e1e214bd0ab31ad64a2f022f02ec963f2f18c1a21e704fcc958239c072f7d6d",
        "78e8e7c2cb41ffcba3ce8638f9d0f1a9dfe71a8d5fa7285530adcb293c6e24b8",
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_hash_and_text_are_what_they_were(name: str) -> None:
    schema = diabetes_schema() if name == "diabetes" else Schema.load(GOLDEN / f"{name}.toml")
    text = dump_schema(schema, header=["a", ""], remarks={schema.names[0]: "b"}, footer=["c"])
    assert (schema.hash, hashlib.sha256(text.encode()).hexdigest()) == EXPECTED[name]


def test_every_golden_file_is_expected() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(EXPECTED) - {"diabetes"}
