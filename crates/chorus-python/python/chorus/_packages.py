"""Packages that are imported where they are used, since Chorus works without them."""

from __future__ import annotations

import importlib
from types import ModuleType

from ._errors import MissingPackageError


def needed(name: str, use: str) -> ModuleType:
    """The package `name`, or an error that says what it is for and how it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{use} needs {name}, which cannot be imported: {error}\nhint: pip install {name}"
        raise MissingPackageError(message, name=name) from error
