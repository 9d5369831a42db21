"""The anatomical main groups of ATC, the classification of medicines: the first letter of a code."""

from __future__ import annotations

from typing import Final

from panbayes.schema.code_map import CodeMap, CodeRange
from panbayes.schema.public_list import PublicList

__all__ = ["ATC_GROUPS"]

_GROUPS: Final = {
    "A": "alimentary tract and metabolism",
    "B": "blood and blood forming organs",
    "C": "cardiovascular system",
    "D": "dermatologicals",
    "G": "genitourinary system and sex hormones",
    "H": "systemic hormones",
    "J": "antiinfectives for systemic use",
    "L": "antineoplastic and immunomodulating agents",
    "M": "musculoskeletal system",
    "N": "nervous system",
    "P": "antiparasitic products, insecticides, repellents",
    "R": "respiratory system",
    "S": "sensory organs",
    "V": "various",
}

# A letter is followed by two digits, so that no medicine's name is taken for a code; alone it is the group's own code.
ATC_GROUPS: Final = PublicList(
    "atc-groups",
    "the 14 anatomical main groups of ATC",
    "WHO Collaborating Centre for Drug Statistics Methodology, ATC/DDD index",
    CodeMap(
        tuple(
            row
            for letter, title in _GROUPS.items()
            for row in (
                CodeRange(f"{letter} {title}", low=f"{letter}01", high=f"{letter}99"),
                CodeRange(f"{letter} {title}", value=letter),
            )
        )
    ),
)
