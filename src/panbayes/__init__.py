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

if TYPE_CHECKING:
    from panbayes.bayesnet.network import Network as Network
    from panbayes.embedded.learn import learn as learn
    from panbayes.panprivate.estimator import DensityEstimator as DensityEstimator
    from panbayes.public.attribute import Attribute as Attribute
    from panbayes.public.errors import InputError as InputError
    from panbayes.public.errors import PanbayesError as PanbayesError
    from panbayes.public.schema import Schema as Schema
    from panbayes.public.schema import Unit as Unit
    from panbayes.public.statement import PrivacyStatement as PrivacyStatement
    from panbayes.public.study import Study as Study
    from panbayes.tables.table import Table as Table

__version__ = "0.1.0"

_PLACES: Final = {
    "Attribute": "panbayes.public.attribute",
    "DensityEstimator": "panbayes.panprivate.estimator",
    "InputError": "panbayes.public.errors",
    "Network": "panbayes.bayesnet.network",
    "PanbayesError": "panbayes.public.errors",
    "PrivacyStatement": "panbayes.public.statement",
    "Schema": "panbayes.public.schema",
    "Study": "panbayes.public.study",
    "Table": "panbayes.tables.table",
    "Unit": "panbayes.public.schema",
    "learn": "panbayes.embedded.learn",
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
