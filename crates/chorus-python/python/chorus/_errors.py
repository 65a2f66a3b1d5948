"""The exceptions of Chorus. All of them are a `ChorusError`."""

from __future__ import annotations

__all__ = ["ChorusError", "DefectError", "InputError", "MissingPackageError", "RunError", "WrongResultWarning"]


class ChorusError(Exception):
    """The base of all exceptions of Chorus."""


class InputError(ChorusError, ValueError):
    """An argument or a file that cannot be used. The message says what would be accepted."""


class RunError(ChorusError, RuntimeError):
    """A run that gave no result.

    `kind` is `stuck` for a program that makes no progress, and `undeclared` for a kernel that accesses what it does
    not declare.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind

    def __reduce__(self) -> tuple[type[RunError], tuple[str, str]]:
        return type(self), (str(self), self.kind)


class DefectError(ChorusError, RuntimeError):
    """A defect of Chorus itself. Please report it with the call."""


class MissingPackageError(ChorusError, ImportError):
    """A package that Chorus needs for what was asked, and that is not installed."""


class WrongResultWarning(UserWarning):
    """A program that computed a wrong result, because its caches are incoherent or its protocol is broken."""
