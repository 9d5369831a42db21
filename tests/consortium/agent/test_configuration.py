"""What ``holder.toml`` may say, and what it is refused for."""

from __future__ import annotations

import re
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.agent.configuration import HOLDER_FILE, HolderFile
from panbayes.consortium.post.keys import PublicKey
from panbayes.errors import InputError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.tables.sources.file import File
from tests.consortium.agent.houses import House, key

TOUCHED = PublicKey("sk-ssh-ed25519@openssh.com", bytes(range(32)), b"ssh:").line


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "north")


def test_a_plain_file_is_read(house: House) -> None:
    holder = house.write()
    assert (holder.name, holder.cap, holder.approvals, holder.seal) == ("north", Pure(Fraction(3)), 1, False)
    assert holder.public == key("north").public
    assert holder.data == File(house.folder / "north.csv")
    assert holder.state_folder == house.folder / "state"
    assert [(one.name, one.key) for one in holder.officers] == [("mary", key("mary").public)]
    assert [(one.name, one.key) for one in holder.analysts] == [("uni", key("uni").public)]
    assert holder.time.grid == 1
    assert (holder.time.rows_bound, holder.mailbox, holder.ca) == (None, None, None)


def test_every_key_is_read(house: House) -> None:
    rest = """
[time]
grid = 0.5
rows_bound = 1000000
[mailbox]
url = "https://post.example:8443/x"
ca = "own.pem"
poll = 20
"""
    officers = {"mary": key("mary").public.line, "tom": TOUCHED}
    holder = house.write(
        top='approvals = 2\nstate = "kept/here"\nseal = true', cap='"rho=0.05"', officers=officers, rest=rest
    )
    assert (holder.approvals, holder.seal, holder.cap) == (2, True, ZeroConcentrated(Fraction(1, 20)))
    assert holder.state_folder == house.folder / "kept" / "here"
    assert (holder.time.grid, holder.time.rows_bound) == (Fraction(1, 2), 1_000_000)
    assert holder.mailbox is not None
    assert (holder.mailbox.url, holder.mailbox.poll) == ("https://post.example:8443/x", 20)
    assert holder.ca == house.folder / "own.pem"
    assert [one.name for one in holder.officers] == ["mary", "tom"]


@pytest.mark.parametrize(("cap", "found"), [("2.5", Pure(Fraction(5, 2))), ('"1/3"', Pure(Fraction(1, 3)))])
def test_a_cap_is_exact(house: House, cap: str, found: Pure) -> None:
    assert house.write(cap=cap).cap == found


def test_a_table_is_read_as_its_keys_say(house: House) -> None:
    house.text()
    said = 'file = "north.csv"\nencoding = "latin-1"\nseparator = "tab"\nheader = false\ncolumns = ["a", "b"]'
    house.config.write_text(house.config.read_text().replace('file = "north.csv"', said))
    assert HolderFile.load(house.config).data == File(
        house.folder / "north.csv", encoding="latin-1", separator="tab", header=False, columns=("a", "b")
    )


def test_keys_may_be_files_beside_it(house: House) -> None:
    house.folder.mkdir(parents=True)
    key("mary").save(house.folder / "mary", comment="mary@north", argument="mary")
    holder = house.write(officers={"mary": "mary.pub"})
    assert holder.officers[0].key == key("mary").public
    assert holder.officer(key("mary").public) == holder.officers[0]
    assert holder.officer(key("uni").public) is None
    assert holder.analyst(key("uni").public.fingerprint) == holder.analysts[0]
    assert holder.analyst(key("mary").public.fingerprint) is None


def line(name: str) -> str:
    return key(name).public.line


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no cap": ({"cap": '""'}, "cap: found ''; give ε such as 3"),
    "a cap of nothing": ({"cap": "0"}, "cap: found 0"),
    "a cap that is no number": ({"cap": "true"}, "cap: found a boolean"),
    "a cap without end": ({"cap": '"none"'}, "cap: found 'none'"),
    "a name that no folder holds": ({"name": "../north"}, "name: found the name"),
    "a key that nobody knows": ({"top": "aprovals = 2"}, 'aprovals: is not a known key; did you mean "approvals"'),
    "three approvals": ({"top": "approvals = 3"}, "approvals: found 3; give 1 or 2"),
    "no approvals": ({"top": "approvals = 0"}, "approvals: found 0; give 1 or 2"),
    "no officers": ({"officers": {}}, "officers: found 0, and approvals = 1"),
    "too few officers": ({"top": "approvals = 2"}, "officers: found 1, and approvals = 2"),
    "one officer twice": (
        {"officers": {"mary": line("mary"), "tom": f"{line('mary')} tom"}},
        "officers.tom: is the key of officers.mary too",
    ),
    "an officer who asks": ({"analysts": {"uni": line("mary")}}, "analysts.uni: is the key of officers.mary too"),
    "an analyst twice": (
        {"analysts": {"uni": line("uni"), "two": line("uni")}},
        "analysts.two: is the key of analysts.uni too",
    ),
    "a holder who asks": ({"analysts": {"uni": line("north")}}, "analysts.uni: is the holder's own key"),
    "a holder who approves": ({"officers": {"mary": line("north")}}, "officers.mary: is the holder's own key"),
    "an officer without a key": ({"officers": {"mary": "x"}}, "officers.mary: is no Ed25519 public key"),
    "an officer's file that is absent": ({"officers": {"mary": "none.pub"}}, "officers.mary: .* cannot be read"),
    "an officer with a strange name": ({"officers": {"-x": line("mary")}}, 'found the name "-x"'),
    "a grid below nothing": ({"rest": "[time]\ngrid = -1"}, "time.grid: found -1"),
    "a grid of days": ({"rest": "[time]\ngrid = 86400"}, "time.grid: found 86400"),
    "a bound of nothing": ({"rest": "[time]\nrows_bound = 0"}, "time.rows_bound: found 0"),
    "a mailbox without HTTPS": ({"rest": '[mailbox]\nurl = "http://post.example"'}, "mailbox.url: found"),
    "a mailbox with a password": ({"rest": '[mailbox]\nurl = "https://a:b@post.example"'}, "mailbox.url: found"),
    "a mailbox nowhere": ({"rest": '[mailbox]\nurl = "https://"'}, "mailbox.url: found"),
    "a mailbox at no port": ({"rest": '[mailbox]\nurl = "https://post.example:99999"'}, "mailbox.url: found"),
    "a poll without end": ({"rest": '[mailbox]\nurl = "https://post.example"\npoll = 301'}, "mailbox.poll: found 301"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused(house: House, case: str) -> None:
    settings, words = REFUSED[case]
    house.text(**settings)
    with pytest.raises(InputError, match=words) as caught:
        HolderFile.load(house.config)
    assert str(house.config) in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://localhost:8000", "http://127.0.0.1:8000/x", "https://10.0.0.1", "https://[::1]:1"]
)
def test_an_address_may_be_of_https_or_of_this_machine(house: House, url: str) -> None:
    mailbox = house.write(rest=f'[mailbox]\nurl = "{url}"').mailbox
    assert mailbox is not None
    assert mailbox.url == url


def test_a_key_that_others_can_read_is_refused(house: House) -> None:
    house.text()
    (house.folder / "north.key").chmod(0o640)
    with pytest.raises(InputError, match=r"may be read by others .mode 0640.; run: chmod 600"):
        HolderFile.load(house.config)


def test_a_file_without_its_key_is_refused(house: House) -> None:
    house.text()
    (house.folder / "north.key").unlink()
    with pytest.raises(InputError, match=r"holder.toml, key: .* cannot be read"):
        HolderFile.load(house.config)


def test_a_text_by_itself_names_no_files() -> None:
    text = re.sub("mary = .*", 'mary = "mary.pub"', HOLDER_FILE.example)
    with pytest.raises(InputError, match=r"found the file mary.pub; give the key itself"):
        HOLDER_FILE.parse(text, source="text")


def test_the_ledger_has_the_cap_of_the_file(house: House) -> None:
    with house.write().ledger() as ledger:
        assert ledger.summary().cap == Pure(Fraction(3))
        assert ledger.path is not None
        assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE((house.folder / "state").stat().st_mode) == 0o700
    with house.write(cap="2").ledger() as ledger:
        assert ledger.summary().cap == Pure(Fraction(2))
    before = next((house.folder / "state" / "ledgers").glob("*.ledger")).read_bytes()
    with house.write(cap="2").ledger():
        pass
    assert next((house.folder / "state" / "ledgers").glob("*.ledger")).read_bytes() == before


def test_another_name_opens_no_fresh_account(house: House) -> None:
    with house.write().ledger():
        pass
    with pytest.raises(LedgerError, match='none of a holder "norden"; name the holder as before'):
        house.write(name="norden").ledger()


def contents(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("changed", [True, False])
def test_a_state_that_is_gone_under_an_agent_is_not_made_anew(house: House, *, there: bool, changed: bool) -> None:
    """As where the disk of the state is unmounted: an empty ledger in its place would have the whole cap again."""
    holder = house.write()
    holder.ledger().close()
    state = house.folder / "state"
    if changed:
        house.write(cap="2")
        holder = holder.reread()
    state.rename(house.folder / "unmounted")
    if there:
        state.mkdir(mode=0o700)
    for use in (holder.ledger, lambda: holder.post("studies"), lambda: holder.private_folder(holder.consents)):
        with pytest.raises(LedgerError, match="state: is another folder than before, or is gone"):
            use()
    assert state.exists() == there
    assert contents(state) == []
    if there:
        state.rmdir()
    (house.folder / "unmounted").rename(state)
    with holder.ledger() as ledger:
        assert ledger.summary().cap == Pure(Fraction(2 if changed else 3))


def test_a_state_that_cannot_be_made_is_told(house: House) -> None:
    holder = house.write(top='state = "north.csv/x"')
    with pytest.raises(InputError, match=r"holder.toml, state: .* cannot be written"):
        holder.ledger()
