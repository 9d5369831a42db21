"""The chapters of ICD-9-CM, with its supplementary V and E codes."""

from __future__ import annotations

from typing import Final

from panbayes.schema.code_map import CodeMap
from panbayes.schema.public_list import PublicList, ranges

__all__ = ["ICD9_CHAPTERS"]

ICD9_CHAPTERS: Final = PublicList(
    "icd9-chapters",
    "the 17 chapters of ICD-9-CM and its V and E codes",
    "US National Center for Health Statistics, ICD-9-CM, tabular list",
    CodeMap(
        ranges(
            (
                ("001", "139", "infections"),
                ("140", "239", "neoplasms"),
                ("240", "279", "endocrine, nutrition, metabolism, immunity"),
                ("280", "289", "blood"),
                ("290", "319", "mental"),
                ("320", "389", "nervous system and senses"),
                ("390", "459", "circulation"),
                ("460", "519", "respiration"),
                ("520", "579", "digestion"),
                ("580", "629", "genitourinary"),
                ("630", "679", "pregnancy and childbirth"),
                ("680", "709", "skin"),
                ("710", "739", "muscles and bones"),
                ("740", "759", "congenital"),
                ("760", "779", "perinatal"),
                ("780", "799", "symptoms"),
                ("800", "999", "injury and poisoning"),
                ("V01", "V91", "contact with health services"),
                ("E000", "E999", "external causes"),
            )
        )
    ),
)
