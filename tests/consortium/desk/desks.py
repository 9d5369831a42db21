"""An analyst's desk for tests, which is run as often as it takes, and a clock that can be put forward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.desk.learning import AwaitedError, learn_by_letters
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey
from tests.consortium.desk.holders import LetterHolder, keys_of
from tests.consortium.studies import SCHEMA

ANALYST = PrivateKey.generate()
INDEPENDENT = Study("independent", SCHEMA, "independent", 1)
VOTING = Study("votes", SCHEMA, "noisy-majority-voting", 1)


class Desk:
    """An analyst's desk: run it as often as it takes."""

    def __init__(self, study: Study, tmp_path: Path, holders: dict[str, LetterHolder], *, simulated: bool = True):
        self.study, self.holders, self.simulated = study, holders, simulated
        self.post, self.state = tmp_path / "letters", tmp_path / "state"
        self.told: list[str] = []

    def run(self, *, wait: bool = False) -> Network:
        return learn_by_letters(
            self.study,
            keys_of(self.holders),
            key=ANALYST,
            folder=Folder.at(self.post),
            state=self.state,
            wait=wait,
            simulated=self.simulated,
            tell=self.told.append,
        )

    def waiting(self) -> AwaitedError:
        with pytest.raises(AwaitedError) as caught:
            self.run()
        return caught.value

    def finish(self, *, between: Callable[[], None] = lambda: None, most: int = 300) -> Network:
        """Run and answer in turns until there is a network."""
        for _ in range(most):
            try:
                return self.run()
            except AwaitedError as error:
                between()
                for name in error.holders:
                    self.holders[name].answer()
        raise AssertionError("no end")


DeskOf = Callable[..., Desk]


class Clock:
    """A clock on the wall that can be put forward."""

    def __init__(self) -> None:
        self.hours = 0.0

    def jump(self, hours: float) -> None:
        self.hours += hours

    def time(self) -> float:
        return 1e9 + 3600 * self.hours


def bare(network: Network) -> Network:
    """A network without what was signed."""
    return replace(network, receipts=None)
