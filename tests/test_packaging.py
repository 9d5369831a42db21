"""A wheel is built, installed in an empty environment from the lock file, and tried as a user would."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import panbayes
from tests.effort import soak

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_what_the_wheel_holds(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "panbayes/py.typed" in names
    assert "panbayes/tables/diabetes.toml" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.endswith((".csv", ".zip", ".parquet"))]
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"panbayes"}
    assert panbayes.__version__ in wheel.name


@soak
def test_the_wheel_works_where_nothing_else_is_installed(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = str(tmp_path / "env" / "bin" / "python")
    # Our own pip installs there, and compiles nothing that is not going to be imported.
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    install = [*pip, "install", "-qq", "--no-compile"]
    lock = str(ROOT / "requirements.lock")
    subprocess.run([*install, "--require-hashes", "-r", lock], check=True, capture_output=True)
    subprocess.run([*install, "--no-deps", str(wheel)], check=True, capture_output=True)
    command = str(tmp_path / "env" / "bin" / "panbayes")
    shown = subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout
    assert shown == f"panbayes {panbayes.__version__}\n"
    (tmp_path / "t.csv").write_text("sex,age\nF,1\nM,2\n")
    subprocess.run([command, "schema", "draft", "t.csv", "-o", "s.toml"], cwd=tmp_path, check=True, capture_output=True)
    everything = "import panbayes; [getattr(panbayes, name) for name in panbayes.__all__]"
    subprocess.run([python, "-W", "error", "-c", everything], check=True, cwd=tmp_path)
    assert subprocess.run([*pip, "check"], check=False, capture_output=True).returncode == 0


def test_the_lock_files_cover_the_dependencies() -> None:
    for lock in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / lock).read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text
        for name in ("numpy", "opendp", "polars", "numba", "typer"):
            assert f"\n{name}==" in "\n" + text
