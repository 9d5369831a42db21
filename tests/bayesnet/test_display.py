"""Values at a prompt and in a notebook: a few lines, nothing that could be taken for HTML."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.results import Classification, Posterior
from panbayes.display import MOST_ROWS
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from tests.bayesnet.brute import plain_schema, random_network
from tests.bayesnet.test_model_file import private_network

HOSTILE = Attribute("<b>name</b>", categories=("<script>alert(1)</script>", "a & b", '"quoted"'))


class Reader(HTMLParser):
    """Collects the tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def hostile() -> list[Network | Posterior | Classification]:
    network = random_network(1, schema=Schema("<i>s</i>", (HOSTILE, Attribute("y", categories=("<30", "x")))))
    return [
        network,
        network.posterior([HOSTILE.name, "y"]),
        network.classify_table(network.sample_table(5, 1), HOSTILE.name),
    ]


@pytest.mark.parametrize("value", hostile(), ids=lambda value: type(value).__name__)
def test_names_and_labels_are_escaped(value: Network | Posterior | Classification) -> None:
    page = Reader(value._repr_html_())
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "p"}
    text = "".join(page.texts)
    assert HOSTILE.name in text or HOSTILE.labels[0] in text


@pytest.mark.parametrize("value", hostile(), ids=lambda value: type(value).__name__)
def test_both_views_say_the_same(value: Network | Posterior | Classification) -> None:
    page = "".join(Reader(value._repr_html_()).texts)
    assert "".join(page.split()) == "".join(repr(value).split())


def test_large_values_are_a_few_lines() -> None:
    network = random_network(3, schema=plain_schema([40] * 50), degree=1)
    assert len(repr(network).splitlines()) == MOST_ROWS + 4
    assert "… and 38 more attributes" in repr(network)
    posterior = network.posterior(["x0", "x1"])
    assert len(repr(posterior).splitlines()) == MOST_ROWS + 2
    assert "… and 1,588 more values" in posterior._repr_html_()
    assert posterior._repr_html_().count("<tr>") == MOST_ROWS + 1


def test_a_network_says_whether_it_is_private() -> None:
    assert repr(random_network(1)).splitlines()[-1].startswith("NOT PRIVATE: nothing is stated")
    assert repr(private_network()).splitlines()[-1].startswith("Guarantee: ε = 1")
    assert "Guarantee: ε = 1" in private_network()._repr_html_()


def test_counts_of_a_classification_are_those_of_its_codes() -> None:
    found = Classification(HOSTILE, np.array([2, 2, 0], dtype=np.uint8), np.full((3, 3), 1 / 3))
    assert [line.split()[-1] for line in repr(found).splitlines()[2:]] == ["1", "0", "2"]
