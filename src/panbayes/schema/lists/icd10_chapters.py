"""The chapters of ICD-10, as wide as the WHO's edition and the American one (ICD-10-CM) draw them together."""

from __future__ import annotations

from typing import Final

from panbayes.schema.code_map import CodeMap
from panbayes.schema.public_list import PublicList, ranges

__all__ = ["ICD10_CHAPTERS"]

ICD10_CHAPTERS: Final = PublicList(
    "icd10-chapters",
    "the 22 chapters of ICD-10 and ICD-10-CM",
    "World Health Organization, ICD-10, volume 1; US National Center for Health Statistics, ICD-10-CM",
    CodeMap(
        ranges(
            (
                ("A00", "B99", "infections"),
                ("C00", "D49", "neoplasms"),
                ("D50", "D89", "blood and immunity"),
                ("E00", "E90", "endocrine, nutrition, metabolism"),
                ("F00", "F99", "mental"),
                ("G00", "G99", "nervous system"),
                ("H00", "H59", "eye"),
                ("H60", "H95", "ear"),
                ("I00", "I99", "circulation"),
                ("J00", "J99", "respiration"),
                ("K00", "K95", "digestion"),
                ("L00", "L99", "skin"),
                ("M00", "M99", "muscles and bones"),
                ("N00", "N99", "genitourinary"),
                ("O00", "O9A", "pregnancy and childbirth"),
                ("P00", "P96", "perinatal"),
                ("Q00", "Q99", "congenital"),
                ("R00", "R99", "symptoms"),
                ("S00", "T98", "injury and poisoning"),
                ("U00", "U99", "special purposes"),
                ("V00", "Y99", "external causes"),
                ("Z00", "Z99", "contact with health services"),
            )
        )
    ),
)
