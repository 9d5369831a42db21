"""Learn about a population without holding anything that could betray a person in it.

>>> import panbayes
>>> schema = panbayes.Schema.parse('''
... version = 1
... name = "two"
... status = "approved"
... [[attributes]]
... name = "sex"
... categories = ["F", "M"]
... ''')
>>> schema.sizes
(2,)

The names below are loaded when they are used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from panbayes._version import __version__

if TYPE_CHECKING:
    from panbayes.bayesnet.network import Network as Network
    from panbayes.consortium.agreement.study import Study as Study
    from panbayes.consortium.local.learn import learn as learn
    from panbayes.errors import InputError as InputError
    from panbayes.errors import PanbayesError as PanbayesError
    from panbayes.privacy.statement import PrivacyStatement as PrivacyStatement
    from panbayes.schema.attribute import Attribute as Attribute
    from panbayes.schema.schema import Schema as Schema
    from panbayes.schema.schema import Unit as Unit
    from panbayes.stream.estimator import DensityEstimator as DensityEstimator
    from panbayes.tables.table import Table as Table


_PLACES: Final = {
    "Attribute": "panbayes.schema.attribute",
    "DensityEstimator": "panbayes.stream.estimator",
    "InputError": "panbayes.errors",
    "Network": "panbayes.bayesnet.network",
    "PanbayesError": "panbayes.errors",
    "PrivacyStatement": "panbayes.privacy.statement",
    "Schema": "panbayes.schema.schema",
    "Study": "panbayes.consortium.agreement.study",
    "Table": "panbayes.tables.table",
    "Unit": "panbayes.schema.schema",
    "learn": "panbayes.consortium.local.learn",
}

__all__ = [
    "Attribute",
    "DensityEstimator",
    "InputError",
    "Network",
    "PanbayesError",
    "PrivacyStatement",
    "Schema",
    "Study",
    "Table",
    "Unit",
    "__version__",
    "learn",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _PLACES:
        raise AttributeError(f"module 'panbayes' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
