"""The published table, prepared as the thesis did. Needs the data; the fetching is tried against a real server."""

from __future__ import annotations

import http.server
import math
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from panbayes.errors import InputError
from panbayes.tables.check import check_table
from panbayes.tables.diabetes import CSV_NAME, diabetes_frame, diabetes_schema, load_diabetes


def test_the_schema_is_the_thesiss() -> None:
    schema = diabetes_schema()
    assert len(schema) == 43
    assert (min(schema.sizes), max(schema.sizes)) == (2, 118)
    schema.require_approved()


def test_the_table_is_the_thesiss(diabetes_path: Path) -> None:
    """43 attributes, 71,518 records, observed domains of 10^31.9 tuples; every value has a place of its own."""
    frame = diabetes_frame(diabetes_path)
    assert frame.shape == (71_518, 43)
    assert round(math.log10(math.prod(frame[name].n_unique() for name in frame.columns)), 1) == 31.9
    fit = check_table(frame, diabetes_schema())
    assert fit.clean
    assert all(a.outside == 0 for a in fit.attributes)
    assert {a.name for a in fit.attributes if a.missing} == {"race", "diag_1", "diag_2", "diag_3"}
    table = load_diabetes(diabetes_path)
    assert table.codes.dtype.itemsize == 1
    assert table.codes.shape == (43, 71_518)


def test_diagnoses_are_grouped_as_in_the_paper(diabetes_path: Path) -> None:
    """Shares of the primary diagnosis among first encounters, Strack et al. 2014, Table 3: circulatory about 30 %."""
    frame = diabetes_frame(diabetes_path)
    shares = dict(frame["diag_1"].value_counts(normalize=True).iter_rows())
    assert shares["Circulatory"] == pytest.approx(0.30, abs=0.02)
    assert shares["Diabetes"] == pytest.approx(0.08, abs=0.01)
    assert shares["Respiratory"] == pytest.approx(0.14, abs=0.02)


def test_the_environment_variable(diabetes_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANBAYES_DIABETES", str(diabetes_path))
    assert load_diabetes().records == 71_518
    monkeypatch.setenv("PANBAYES_DIABETES", "absent.zip")
    with pytest.raises(InputError, match=r"PANBAYES_DIABETES: absent\.zip cannot be read .*get the archive from https"):
        load_diabetes()


def test_another_file_is_refused(tmp_path: Path) -> None:
    csv = tmp_path / "diabetic_data.csv"
    csv.write_text("encounter_id,patient_nbr\n1,2\n")
    with pytest.raises(InputError, match=r"its sha256 differs.*get the archive from https.*set PANBAYES_DIABETES"):
        load_diabetes(csv)
    archive = tmp_path / "other.zip"
    with zipfile.ZipFile(archive, "w") as handle:
        handle.writestr("readme.txt", "nothing")
    with pytest.raises(InputError, match="is damaged or holds no diabetic_data"):
        load_diabetes(archive)
    with zipfile.ZipFile(archive, "w") as handle:
        handle.writestr(f"folder/{CSV_NAME}", "edited")
    with pytest.raises(InputError, match="its sha256 differs"):
        load_diabetes(archive)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A real HTTP server on loopback that serves a folder."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(folder / Path(path).name)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}", folder
        running.shutdown()


def test_fetching_and_caching(
    server: tuple[str, Path], diabetes_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = server
    monkeypatch.delenv("PANBAYES_DIABETES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="could not be fetched"):
        load_diabetes(url=f"{url}/absent.zip")
    monkeypatch.setenv("PANBAYES_DIABETES", "")  # as good as not set
    (folder / "d.zip").write_bytes(diabetes_path.read_bytes())
    assert load_diabetes(url=f"{url}/d.zip").records == 71_518
    (folder / "d.zip").unlink()
    assert Path(platformdirs.user_cache_dir("panbayes"), "dataset_diabetes.zip").is_file()
    assert load_diabetes(url=f"{url}/d.zip").records == 71_518  # from the cache


def test_only_web_addresses_are_fetched(diabetes_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PANBAYES_DIABETES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(InputError, match="could not be fetched"):
        load_diabetes(url=diabetes_path.resolve().as_uri())
