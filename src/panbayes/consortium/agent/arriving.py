"""Taking study letters in: from a folder that a person names, or one by one as a carrier brings them.

A letter that has not arrived (:mod:`panbayes.consortium.agent.study_letters`) is passed over: anybody may have put it
there.
"""

from __future__ import annotations

from dataclasses import dataclass

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.study_letters import NotArrivedError, ProposedStudy
from panbayes.consortium.post.folder import Folder

__all__ = ["Import", "import_studies"]


@dataclass(frozen=True, slots=True)
class Import:
    """What a look into a folder brought: studies that ``arrived``, and why other letters of analysts were ``passed``.

    Letters to other holders are no news and are not told of.
    """

    arrived: tuple[ProposedStudy, ...]
    passed: tuple[str, ...]


def import_studies(folder: Folder, holder: HolderFile) -> Import:
    """Keep every study letter in a folder of letters that has arrived."""
    studies = Studies(holder)
    arrived: list[ProposedStudy] = []
    passed: list[str] = []
    for name in folder.names("to"):
        for stem in folder.stems("to", name, "study"):
            letter = folder.get("to", name, stem, "study")
            if letter is None:
                continue
            try:
                arrived.append(studies.keep(letter))
            except NotArrivedError as error:
                if error.what != "misaddressed":
                    passed.append(f"to-{name}/{stem}.study: {error}")
    return Import(tuple(arrived), tuple(passed))
