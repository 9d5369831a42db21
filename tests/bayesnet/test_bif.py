"""BIF: exact round trips, odd names, files from elsewhere, and bad ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from panbayes.bayesnet.formats.bif import export_bif
from panbayes.bayesnet.formats.bif_import import import_bif
from panbayes.bayesnet.formats.files import load_factors, save_factors
from panbayes.bayesnet.network import Network
from panbayes.errors import InputError
from tests.bayesnet.brute import random_network, seeds, tricky_schema
from tests.bayesnet.test_model_file import private_network, statement
from tests.effort import often

RAIN = """
network "weather today" { property made = "by hand"; }
// rain wets the grass
variable rain { type discrete [ 2 ] { yes, no }; property weather; }
variable grass { /* three
 states */ type discrete[3] { dry, "very wet", <5 }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( grass | rain ) {
  (yes) 0.1, 0.6, 0.3;
  (no) 0.9 0.1 0.0;
}
"""


@settings(max_examples=often(12, 60), deadline=None)
@given(seeds)
def test_round_trips_are_exact_with_any_names(seed: int) -> None:
    network = random_network(seed, schema=tricky_schema(seed))
    text = export_bif(network)
    assert import_bif(text) == network
    declarations = [line for line in text.splitlines() if "property" not in line]
    assert all(" " <= c <= "~" for line in declarations for c in line)


def test_the_statement_is_a_comment_and_is_not_read_back() -> None:
    network = private_network()
    text = export_bif(network)
    assert text.startswith("// Guarantee: ")
    back = import_bif(text)
    assert back.privacy is None
    assert back == Network(network.schema, network.structure, network.tables)


def test_a_file_from_elsewhere() -> None:
    network = Network.of(import_bif(RAIN))
    assert network.schema.name == "weather today"
    assert network.schema.names == ("rain", "grass")
    assert network.schema.attributes[1].labels == ("dry", "very wet", "<5")
    assert network.posterior("rain", {"grass": "very wet"})["yes"] == pytest.approx(0.12 / 0.2)


def test_tables_of_every_kind_mean_the_same() -> None:
    rows = import_bif(RAIN).tables[1]
    flat = RAIN.replace("(yes) 0.1, 0.6, 0.3;\n  (no) 0.9 0.1 0.0;", "table 0.1, 0.9, 0.6, 0.1, 0.3, 0.0;")
    default = RAIN.replace("(no) 0.9 0.1 0.0;", "default 0.9 0.1 0.0;")
    old = RAIN.replace("( grass | rain )", "( grass rain )")
    for text in (flat, default, old):
        assert text != RAIN
        assert np.array_equal(import_bif(text).tables[1], rows)


def test_rounded_rows_are_normalised_and_wrong_ones_refused() -> None:
    rounded = import_bif(RAIN.replace("table 0.2, 0.8", "table 0.333, 0.666"))
    assert rounded.tables[0] == pytest.approx([1 / 3, 2 / 3], rel=1e-12)
    with pytest.raises(InputError, match=r'bif, line 7: the table of "rain" has a row that does not sum to one'):
        import_bif(RAIN.replace("table 0.2, 0.8", "table 0.2, 0.6"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("probability ( rain ) {", "probability ( rain | grass ) {", "found a cycle through attributes 0, 1"),
        ("probability ( rain ) { table 0.2, 0.8; }", "", '"rain" has no table'),
        ("  (no) 0.9 0.1 0.0;\n", "", 'table of "grass"'),
        ("(no)", "(maybe)", r"has a row for \(maybe\)"),
        ("(no)", "(no, no)", r"has a row for \(no, no\)"),
        ("0.9 0.1 0.0", "0.9 0.1", "a row of 2 numbers, not 3"),
        ("0.9 0.1 0.0", "0.9 0.1 x", "instead of a number"),
        ("0.9 0.1 0.0", "0.9 nan 0.1", "missing or no number"),
        ("0.9 0.1 0.0", "inf 0.1 0.1", "does not sum to one"),
        ("0.9 0.1 0.0", "1.9 -0.9 0.0", "does not sum to one"),
        ("table 0.2, 0.8", "table 0.2, 0.3, 0.5", "needs 2 numbers"),
        ("[ 2 ]", "[ 3 ]", '"rain" declares 3 states and lists 2'),
        ("yes, no }", "yes, yes }", '"rain" has a state twice'),
        ("variable rain", "variable grass", "declared twice"),
        ("type discrete [ 2 ] { yes, no };", "", "without states"),
        ("( grass | rain )", "( grass | snow )", '"snow" is not declared'),
        ("( grass | rain )", "( rain | grass )", '"rain" has two tables'),
        ("network", "netwerk", 'found "netwerk" instead of'),
        ("(yes)", "(yes", "instead of a state|where"),
        ("variable rain {", "variable {", "instead of a name"),
        ('"by hand"; }', '"by hand" }', "is not declared|instead of"),
    ],
)
def test_bad_files_are_one_line(old: str, new: str, message: str) -> None:
    assert old in RAIN
    with pytest.raises(InputError, match=message) as caught:
        import_bif(RAIN.replace(old, new, 1), source="rain.bif")
    assert str(caught.value).startswith("rain.bif")


def test_nothing_at_all() -> None:
    for text in ("", "   ", "// only a comment", "network x { }"):
        with pytest.raises(InputError, match="declares no variable"):
            import_bif(text)


def test_a_table_that_would_not_fit_is_refused_before_it_is_made() -> None:
    size, parents = 50, 12
    states = ", ".join(f"s{i}" for i in range(size))
    names = [f"x{i}" for i in range(parents + 1)]
    lines = [f"variable {name} {{ type discrete [{size}] {{ {states} }}; }}" for name in names]
    uniform = ", ".join(["0.02"] * size)
    lines += [f"probability ({name}) {{ table {uniform}; }}" for name in names[1:]]
    lines.append(f"probability (x0 | {', '.join(names[1:])}) {{ default {uniform}; }}")
    with pytest.raises(InputError, match="default rows stand for more than 4,194,304 numbers"):
        import_bif("\n".join(lines))


def test_edited_properties_do_not_restore_a_wrong_schema() -> None:
    network = private_network()
    text = export_bif(network).replace("panbayes_states", "nothing", 1)
    back = import_bif(text)
    assert back.schema != network.schema
    assert all(np.array_equal(a, b) for a, b in zip(back.tables, network.tables, strict=True))


def test_files(tmp_path: Path) -> None:
    network = random_network(1)
    save_factors(network, tmp_path / "out.bif")
    assert Network.load(tmp_path / "out.bif") == network
    with pytest.raises(InputError, match=r"absent\.bif: cannot be read"):
        Network.load(tmp_path / "absent.bif")
    (tmp_path / "bytes.bif").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text"):
        Network.load(tmp_path / "bytes.bif")
    with pytest.raises(InputError, match="cannot be written"):
        save_factors(network, tmp_path / "no" / "out.bif")


def test_mutations_never_crash() -> None:
    mutate_bif(seed=1, times=2000)


def mutate_bif(*, seed: int, times: int) -> None:
    """Cut, repeat and swap words and characters: a network, or one line that names the file."""
    rng = np.random.default_rng(seed)
    texts = [RAIN, export_bif(random_network(3, attributes=4, schema=tricky_schema(3)))]
    for _ in range(times):
        text = texts[int(rng.integers(len(texts)))]
        for _ in range(int(rng.integers(1, 4))):
            at, to = sorted(rng.integers(0, len(text), 2).tolist())
            near = min(to, at + 30)
            match int(rng.integers(4)):
                case 0:
                    text = text[:at] + '{}()[],;|"=%/* 0x'[int(rng.integers(17))] + text[at + 1 :]
                case 1:
                    text = text[:at] + text[near:]
                case 2:
                    text = text[:near] + text[at:]
                case _:
                    text = text[:at]
            if not text:
                break
        complaint = "x.bif"
        try:
            import_bif(text, source="x.bif")
        except InputError as error:
            complaint = str(error)
        assert complaint.startswith("x.bif")
        assert "\n" not in complaint


def test_the_statement_in_the_comment_is_whole() -> None:
    comment = [line for line in export_bif(private_network()).splitlines() if line.startswith("//")]
    assert len(comment) == len(statement().lines())


def test_a_few_bytes_take_neither_memory_nor_time() -> None:
    names = [f"v{i}" for i in range(20)]
    lines = [f"variable {name} {{ type discrete [2] {{ a, b }}; }}" for name in names]
    lines += [f"probability ({name}) {{ table 0.5, 0.5; }}" for name in names[:18]]
    wide = f"| {', '.join(names[:18])}) {{ default 0.5, 0.5; }}"
    small = "\n".join([*lines, f"probability (v18 {wide}", "probability (v19) { table 0.5, 0.5; }"])
    assert import_bif(small).tables[18].size == 1 << 19
    # Each table alone would pass.
    sizes = "variable w { type discrete [8] { a, b, c, d, e, f, g, h }; }"
    both = "\n".join([*lines, sizes, f"probability (v18 {wide}", f"probability (v19 {wide}"])
    eighths = ", ".join(["0.125"] * 8)
    with pytest.raises(InputError, match="default rows stand for more than 4,194,304 numbers"):
        import_bif(f"{both}\nprobability (w | v18, v19, {', '.join(names[:17])}) {{ default {eighths}; }}")
    square = ", ".join(f"s{i}" for i in range(8000))
    rows = "".join(f"(s{i}) 1;" for i in range(8000))
    with pytest.raises(InputError, match="has a row of 1 numbers, not 8000"):
        import_bif(
            f"variable p {{ type discrete [8000] {{ {square} }}; }}"
            f"variable c {{ type discrete [8000] {{ {square} }}; }}"
            f"probability (p) {{ default 1; }} probability (c | p) {{ {rows} }}"
        )
    for text in ("network " + "/* " * 300_000, "network " + "a " * 300_000):
        with pytest.raises(InputError, match=r'a comment that does not end|where "\{" should stand'):
            import_bif(text)


def test_a_path_that_is_none_is_said_to_be_none() -> None:
    with pytest.raises(InputError, match="holds a NUL, which no path can"):
        load_factors("a\0.bif")


def test_a_network_that_is_not_private_says_so_in_every_file() -> None:
    network = random_network(3)
    open_network = replace(network, about={"warning": "NOT PRIVATE: do not release; \u00e9"})
    text = export_bif(open_network)
    assert text.startswith("// NOT PRIVATE: do not release; _\n// No privacy statement: nothing is promised")
    assert import_bif(text).about == open_network.about
    assert export_bif(network).startswith("// No privacy statement: nothing is promised to the people")
    assert import_bif(export_bif(network)).about == {}
    assert "No privacy statement" not in export_bif(private_network())
