"""Learn about a population without holding anything that could betray a person in it.

>>> import panbayes
>>> import polars as pl
>>> frame = pl.DataFrame({"sex": ["F", "M", "F", "F"] * 500, "smokes": ["no", "yes", "no", "no"] * 500})
>>> schema = panbayes.Schema(
...     "two",
...     (
...         panbayes.Attribute("sex", categories=("F", "M")),
...         panbayes.Attribute("smokes", categories=("no", "yes")),
...     ),
... )
>>> network = panbayes.learn(frame, schema, epsilon=1, simulate=7)  # seeded noise: for examples only
>>> network.posterior("smokes", {"sex": "M"})["yes"] > 0.9
True

These names are stable and all that is: what lies below ``panbayes.*`` may change without notice. They are loaded when
they are used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from panbayes._version import __version__
from panbayes.kernel_cache import ensure_cache

if TYPE_CHECKING:
    from panbayes.bayesnet.network import Network as Network
    from panbayes.bayesnet.network import read_bif as read_bif
    from panbayes.bayesnet.results import Classification as Classification
    from panbayes.bayesnet.results import Expectation as Expectation
    from panbayes.bayesnet.results import Posterior as Posterior
    from panbayes.consortium.agreement.study import Study as Study
    from panbayes.consortium.local.learn import learn as learn
    from panbayes.errors import HolderFailedError as HolderFailedError
    from panbayes.errors import HolderRefusedError as HolderRefusedError
    from panbayes.errors import InputError as InputError
    from panbayes.errors import LedgerError as LedgerError
    from panbayes.errors import PanbayesError as PanbayesError
    from panbayes.privacy.statement import PrivacyStatement as PrivacyStatement
    from panbayes.schema.attribute import Attribute as Attribute
    from panbayes.schema.schema import Schema as Schema
    from panbayes.schema.schema import Unit as Unit
    from panbayes.stream.density_estimate import DensityEstimate as DensityEstimate
    from panbayes.stream.distinct_counter import DistinctCounter as DistinctCounter
    from panbayes.stream.distinct_estimate import DistinctEstimate as DistinctEstimate
    from panbayes.stream.duckdb_function import FeedFunction as FeedFunction
    from panbayes.stream.estimator import DensityEstimator as DensityEstimator
    from panbayes.stream.flipped_copy import FlippedCopies as FlippedCopies
    from panbayes.stream.flipped_copy import FlippedCopy as FlippedCopy
    from panbayes.stream.ids.records import Records as Records
    from panbayes.stream.panel_estimate import PanelEstimate as PanelEstimate
    from panbayes.stream.portfolio import portfolio as portfolio
    from panbayes.stream.release import StreamRelease as StreamRelease
    from panbayes.stream.release import combine as combine
    from panbayes.stream.statistics.methods.density import Density as Density
    from panbayes.stream.statistics.methods.thinning import CroppedMean as CroppedMean
    from panbayes.stream.statistics.methods.thinning import Returning as Returning
    from panbayes.stream.statistics.methods.visits import Visits as Visits
    from panbayes.stream.stream_estimator import StreamEstimator as StreamEstimator
    from panbayes.stream.turns import Window as Window
    from panbayes.stream.union import UnionEstimate as UnionEstimate
    from panbayes.stream.union import union as union
    from panbayes.stream.visits_estimate import Share as Share
    from panbayes.stream.visits_estimate import VisitsEstimate as VisitsEstimate
    from panbayes.tables.sources.file import File as File
    from panbayes.tables.table import Table as Table

_PLACES: Final = {
    "Attribute": "panbayes.schema.attribute",
    "Classification": "panbayes.bayesnet.results",
    "CroppedMean": "panbayes.stream.statistics.methods.thinning",
    "Density": "panbayes.stream.statistics.methods.density",
    "DensityEstimate": "panbayes.stream.density_estimate",
    "DensityEstimator": "panbayes.stream.estimator",
    "DistinctCounter": "panbayes.stream.distinct_counter",
    "DistinctEstimate": "panbayes.stream.distinct_estimate",
    "Expectation": "panbayes.bayesnet.results",
    "FeedFunction": "panbayes.stream.duckdb_function",
    "File": "panbayes.tables.sources.file",
    "FlippedCopies": "panbayes.stream.flipped_copy",
    "FlippedCopy": "panbayes.stream.flipped_copy",
    "HolderFailedError": "panbayes.errors",
    "HolderRefusedError": "panbayes.errors",
    "InputError": "panbayes.errors",
    "LedgerError": "panbayes.errors",
    "Network": "panbayes.bayesnet.network",
    "PanbayesError": "panbayes.errors",
    "PanelEstimate": "panbayes.stream.panel_estimate",
    "Posterior": "panbayes.bayesnet.results",
    "PrivacyStatement": "panbayes.privacy.statement",
    "Records": "panbayes.stream.ids.records",
    "Returning": "panbayes.stream.statistics.methods.thinning",
    "Schema": "panbayes.schema.schema",
    "Share": "panbayes.stream.visits_estimate",
    "StreamEstimator": "panbayes.stream.stream_estimator",
    "StreamRelease": "panbayes.stream.release",
    "Study": "panbayes.consortium.agreement.study",
    "Table": "panbayes.tables.table",
    "UnionEstimate": "panbayes.stream.union",
    "Unit": "panbayes.schema.schema",
    "Visits": "panbayes.stream.statistics.methods.visits",
    "VisitsEstimate": "panbayes.stream.visits_estimate",
    "Window": "panbayes.stream.turns",
    "combine": "panbayes.stream.release",
    "learn": "panbayes.consortium.local.learn",
    "portfolio": "panbayes.stream.portfolio",
    "read_bif": "panbayes.bayesnet.network",
    "union": "panbayes.stream.union",
}

__all__ = [
    "Attribute",
    "Classification",
    "CroppedMean",
    "Density",
    "DensityEstimate",
    "DensityEstimator",
    "DistinctCounter",
    "DistinctEstimate",
    "Expectation",
    "FeedFunction",
    "File",
    "FlippedCopies",
    "FlippedCopy",
    "HolderFailedError",
    "HolderRefusedError",
    "InputError",
    "LedgerError",
    "Network",
    "PanbayesError",
    "PanelEstimate",
    "Posterior",
    "PrivacyStatement",
    "Records",
    "Returning",
    "Schema",
    "Share",
    "StreamEstimator",
    "StreamRelease",
    "Study",
    "Table",
    "UnionEstimate",
    "Unit",
    "Visits",
    "VisitsEstimate",
    "Window",
    "__version__",
    "combine",
    "learn",
    "portfolio",
    "read_bif",
    "union",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _PLACES:
        raise AttributeError(f"module 'panbayes' has no attribute {name!r}")
    ensure_cache()
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
