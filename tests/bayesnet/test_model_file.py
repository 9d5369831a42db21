"""Model files: exact round trips, old files stay readable, and nothing damaged gets through or crashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.model_json import VERSION, decode_factors, encode_factors
from panbayes.bayesnet.formats.replicates_json import ReplicatesPart
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.receipts import Receipts, SignedAnswer, Signer
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.composition import Sequential, Step
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Selection, Together
from panbayes.privacy.statement import PrivacyStatement
from tests.bayesnet.brute import random_network, seeds, tricky_schema
from tests.bayesnet.uncertainty.made import replicates
from tests.effort import often

GOLDEN = Path(__file__).parent / "golden" / "model.json"
FIELDS = ("format", "version", "schema", "structure", "tables", "privacy", "about", "error", "receipts")


def statement() -> PrivacyStatement:
    parts = (
        Step("structure", "exponential mechanism", Pure(Fraction(1, 2))),
        Step("tables", "discrete Laplace", Pure(Fraction(1, 2))),
    )
    return PrivacyStatement(
        unit="record",
        adjacency="replace",
        composition=Sequential(parts),
        public=("the schema",),
        versions={"panbayes": "0"},
    )


def private_network(seed: int = 3) -> Network:
    plain = random_network(seed, schema=tricky_schema(seed))
    return Network(plain.schema, plain.structure, plain.tables, statement(), {"strategy": "privbayes", "ø": "日本"})


def resealed(change: dict[str, object]) -> bytes:
    """A file with other content whose checksum is right: what only another program would write."""
    content = json.loads(encode_factors(private_network()))
    content.update(change)
    del content["checksum"]
    fields = [content[name] for name in FIELDS]
    seal = hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()
    return json.dumps({**content, "checksum": seal}).encode()


@settings(max_examples=often(12, 60), deadline=None)
@given(seeds)
def test_round_trips_are_exact(seed: int) -> None:
    network = private_network(seed)
    back = decode_factors(encode_factors(network))
    assert back == network
    assert all(np.array_equal(a, b) for a, b in zip(back.tables, network.tables, strict=True))
    assert encode_factors(back) == encode_factors(network)


def test_a_network_without_a_statement(tmp_path: Path) -> None:
    network = random_network(5)
    network.save(tmp_path / "model.json")
    assert Network.load(tmp_path / "model.json") == network
    assert Network.load(str(tmp_path / "model.json")).privacy is None


def events() -> PrivacyStatement:
    """A statement with every kind of event."""
    rho = ZeroConcentrated(Fraction(3, 100))
    table = DiscreteGaussian(Fraction(50), 2)
    parts = (
        Step.of("counts", DiscreteLaplace(Fraction(8), 2), loss=Pure(Fraction(1, 4))),
        Step.of("votes", Together((Selection("permute-and-flip", Fraction(1, 64)),), 2), loss=Pure(Fraction(1, 4))),
        Step.of("tables", Together((table, Selection("exponential", Fraction(8, 100)))), loss=rho),
        Step("structure", "exponential mechanism", Pure(Fraction(1, 2))),
    )
    return PrivacyStatement("record", "replace", Sequential(parts), ("the schema",), (), {"panbayes": "0"})


def receipts() -> Receipts:
    """Receipts of two holders, one of which answered twice."""
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
    answers = tuple(
        SignedAnswer(
            number, number - 1, f"{number}a" * 32, f"{number}b" * 32, f"{number}c" * 64, f"signature {number}\n"
        )
        for number in (1, 3)
    )
    return Receipts("5d" * 32, f"{key}A", (Signer("north", f"{key}N", answers), Signer("west", f"{key}W", answers[:1])))


def test_the_file_is_the_one_that_was_looked_at() -> None:
    """Written once: another form of the file needs another version."""
    network = Network.load(GOLDEN)
    assert network.privacy == events()
    assert network.error == replicates()
    assert network.receipts == receipts()
    for other in (replace(network, error=None), replace(network, error=replicates(2)), replace(network, receipts=None)):
        assert network != other
        assert Network.of(decode_factors(encode_factors(other))) == other
    assert network.posterior("b", {"a": "q"}).interval("y") is not None
    assert encode_factors(network) == GOLDEN.read_bytes()
    assert network.with_privacy(statement()).error == network.error


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"sequence":3', '"sequence":4'),
        lambda text: text.replace("signature 1", "signature 2"),
        lambda text: text.replace("5d5d", "5d5e", 1),
        lambda text: text.replace("5d5d", "5D5d", 1),
        lambda text: text.replace('"name":"west"', '"name":"east"'),
        lambda text: text.replace('"sequence":3', '"sequence":-3'),
    ],
)
def test_receipts_that_were_changed_are_noticed(change: Callable[[str], str]) -> None:
    text = GOLDEN.read_text()
    assert change(text) != text
    with pytest.raises(InputError):
        decode_factors(change(text).encode())


def resealed_error(change: dict[str, object]) -> bytes:
    """The golden file with another error; ``first`` are the merges of its first attribute."""
    content = json.loads(GOLDEN.read_bytes())
    others = content["error"]["merges"][1:]
    content["error"].update({"merges": [change["first"], *others]} if "first" in change else change)
    fields = [content[name] for name in FIELDS]
    if "extra" not in change:
        fields[-2] = msgspec.convert(content["error"], ReplicatesPart)  # its fields are encoded in their own order
    fields[-1] = receipts()
    seal = hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()
    return json.dumps({**content, "checksum": seal}).encode()


def test_the_checksum_covers_the_error() -> None:
    content = json.loads(GOLDEN.read_bytes())
    content["error"]["laws"] = content["error"]["laws"].replace("A", "B", 1)
    damage(json.dumps(content).encode(), "does not match its own checksum")
    assert decode_factors(resealed_error({})) == Network.load(GOLDEN)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"draws": 0},
        {"draws": -3},
        {"draws": 2},
        {"draws": 10**9},
        {"draws": 1},
        {"laws": ""},
        {"laws": "A"},
        {"laws": "AAAA"},
        {"laws": "%%%%"},
        {"laws": "ø"},
        {"parameters": ""},
        {"merges": []},
        {"first": [0, 1, 2]},
        {"first": [1, 0]},
        {"first": [0, 4]},
        {"first": [-1, 1]},
        {"first": [0, 1, 1, 2]},
        {"first": [0, 1, 2, 1]},
        {"first": [0, 1, 0, 1]},
        {"tables": []},
        {"tables": [[]]},
        {"tables": [[[1, 3], [0, 3]], [[1, 2], [2, 3]]]},
        {"tables": [[[0, 3], [0, 3]], [[1, 2], [2, 3]]]},
        {"tables": [[[-2, 3], [1, 3]], [[1, 2], [2, 3]]]},
        {"tables": [[[0, 3], [4, 3]], [[1, 2], [2, 3]]]},
        {"tables": [[[0, 5], [1, 3]]]},
        {"tables": [[[0, 3], [1, 1]], [[0, 4], [1, 3]]]},
        {"tables": [[[0, 0], [1, 3]], [[1, 2], [2, 3]]]},
        {"tables": [[[0, 2], [1, 3]], [[1, 2], [2, 3]]]},
        {"tables": [[[0, 10**12], [1, 3]], [[1, 2], [2, 3]]]},
        {"unseen": {"records": 0.0, "noise": 1.0, "passed": 0.0}},
        {"unseen": {"records": 1e4, "noise": -1.0, "passed": 0.0}},
        {"unseen": {"records": 1e4, "noise": 1.0, "passed": -0.5}},
        {"unseen": {"records": 1e4, "noise": 1.0, "passed": 1e300}},
    ],
    ids=str,
)
def test_a_sealed_error_that_does_not_fit_is_refused(change: dict[str, object]) -> None:
    damage(resealed_error(change), "model.json")


def test_white_space_does_not_matter() -> None:
    network = private_network()
    assert decode_factors(json.dumps(json.loads(encode_factors(network)), indent=1).encode()) == network


def damage(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        decode_factors(data, source="model.json")
    assert str(caught.value).startswith("model.json")
    assert "\n" not in str(caught.value)


def test_every_truncation_is_noticed() -> None:
    data = encode_factors(random_network(5, attributes=3))
    for length in range(len(data.rstrip()) - 1):
        damage(data[:length], "model.json")


def test_edited_numbers_are_noticed() -> None:
    content = json.loads(encode_factors(private_network()))
    content["tables"][0] = content["tables"][0][::-1]
    damage(json.dumps(content).encode(), "does not match its own checksum")


@pytest.mark.parametrize("path", [("privacy", "private"), ("privacy", "unit"), ("about", "strategy")])
def test_edited_words_are_noticed(path: tuple[str, str]) -> None:
    content = json.loads(encode_factors(private_network()))
    content[path[0]][path[1]] = False if path[1] == "private" else "other"
    damage(json.dumps(content).encode(), "does not match its own checksum")


def test_other_versions_and_other_files_are_refused() -> None:
    content = json.loads(encode_factors(private_network()))
    for other in (0, VERSION + 1):
        text = json.dumps({**content, "version": other, "novelty": 1}).encode()
        damage(text, f"has version {other} of the format; this panbayes reads version {VERSION}: learn the model again")
    damage(json.dumps({**content, "format": "cake"}).encode(), "is not a panbayes model")
    damage(json.dumps({**content, "extra": 1}).encode(), "not a whole model file")
    for text in (
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b"\x00" * 50,
        b'{"format": "panbayes network"}',
        b"[" * 10**5,
    ):
        damage(text, "not a whole model file")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"structure": []}, "structure"),
        ({"structure": [{"child": "nobody", "parents": []}]}, "structure or tables that do not fit"),
        ({"tables": []}, "structure or tables that do not fit"),
        ({"tables": [[1.0]] * 6}, "wrong size|does not sum"),
        ({"privacy": {}}, "statement"),
        ({"schema": {"hash": "0", "toml": "version = 1"}}, "model.json"),
        ({"schema": {"hash": "0", "toml": "\x00"}}, "model.json"),
    ],
)
def test_sealed_nonsense_is_refused(change: dict[str, object], message: str) -> None:
    damage(resealed(change), message)


def test_sealed_cycles_and_wrong_sums_are_refused() -> None:
    content = json.loads(encode_factors(private_network()))
    names = [pair["child"] for pair in content["structure"]]
    loop = [{"child": name, "parents": [names[i - 1]]} for i, name in enumerate(names)]
    damage(resealed({"structure": loop}), "structure: found a cycle")
    halved = [[value / 2 for value in table] for table in content["tables"]]
    damage(resealed({"tables": halved}), "does not sum to one")


def test_unreadable_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.json: cannot be read"):
        Network.load(tmp_path / "absent.json")
    with pytest.raises(InputError, match="cannot be read"):
        Network.load(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        private_network().save(tmp_path / "no" / "model.json")


def test_mutations_never_crash() -> None:
    mutate_model(seed=1, times=3000)


def mutate_model(*, seed: int, times: int) -> None:
    """Flip, cut, repeat and swap bytes: the file is refused in one line, or reads as exactly the same network."""
    rng = np.random.default_rng(seed)
    network = private_network()
    data = np.frombuffer(encode_factors(network), dtype=np.uint8)
    for _ in range(times):
        changed = data.copy()
        for _ in range(int(rng.integers(1, 4))):
            at, to = sorted(rng.integers(0, changed.size, 2).tolist())
            match int(rng.integers(4)):
                case 0:
                    changed[at] = rng.integers(256)
                case 1:
                    changed = np.delete(changed, slice(at, min(to, at + 20)))
                case 2:
                    changed = np.insert(changed, at, changed[at : min(to, at + 20)])
                case _:
                    changed[at], changed[to] = changed[to], changed[at]
        complaint = "model.json"
        found: Factors = network
        try:
            found = decode_factors(changed.tobytes(), source="model.json")
        except InputError as error:
            complaint = str(error)
        assert complaint.startswith("model.json")
        assert "\n" not in complaint
        assert found == network
