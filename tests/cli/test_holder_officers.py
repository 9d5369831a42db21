"""``panbayes holder officers``: those who decide about an account hand over, and nobody else does."""

from __future__ import annotations

import json
from pathlib import Path

from panbayes.consortium.post.signatures import sign
from tests.conftest import Panbayes
from tests.consortium.agent.houses import House, key


def test_those_who_decide_sign_the_change_here_or_elsewhere(panbayes: Panbayes, tmp_path: Path) -> None:
    house = House(tmp_path)
    house.text()
    for name in ("mary", "eve"):
        key(name).save(tmp_path / name, comment=name, argument=name)
    done = panbayes("holder", "officers")
    assert (done.returncode, "there is nothing to sign" in done.stdout) == (0, True), done.stderr
    assert panbayes("holder", "pending").returncode == 0, "by which the account knows its officers"
    house.text(officers={"eve": key("eve").public.line})
    done = panbayes("holder", "pending")
    assert (done.returncode, "panbayes holder officers --config holder.toml" in done.stderr) == (5, True), done.stderr
    for wrong, said in (
        ((), "--key: is not given, and other officers decide"),
        (("--key", "eve.key"), "fewer than 1 of those who decide"),
        (("--key", "mary.key", "--statement", "s.txt"), "--statement: is given beside signatures"),
    ):
        done = panbayes("holder", "officers", *wrong)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert panbayes("holder", "pending").returncode == 5
    assert panbayes("holder", "officers", "--statement", "s.txt").returncode == 0
    statement = (tmp_path / "s.txt").read_bytes()
    assert key("eve").public.line.split()[1].encode() in statement
    (tmp_path / "s.sig").write_text(sign(key("mary"), "panbayes-approval", statement))
    done = panbayes("holder", "officers", "--signature", "s.sig", "--json")
    assert (done.returncode, json.loads(done.stdout)["officers"]) == (0, ["eve"]), done.stderr
    assert panbayes("holder", "pending").returncode == 0
    house.text()
    assert panbayes("holder", "officers", "--key", "eve.key").returncode == 0
    assert panbayes("holder", "pending").returncode == 0
