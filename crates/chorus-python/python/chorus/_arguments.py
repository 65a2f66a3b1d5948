"""Arguments as users give them, in the forms that Chorus reads."""

from __future__ import annotations

import itertools
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from ._errors import InputError

#: Overrides: a mapping from keys to values, or texts `key=value`.
Set = Union[None, Mapping[str, Any], Iterable[str]]


def count(name: str, value: Any, least: int = 1) -> Optional[int]:
    """A whole number from `least` on, or nothing."""
    if value is None:
        return None
    return whole(name, value, least)


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number from `least` on that a computer can count to."""
    try:
        number = value.__index__() if not isinstance(value, bool) else None
    except AttributeError:
        number = None
    if number is None or not least <= number < 2**64:
        raise InputError(f"{name} is given as {value!r}; expected a whole number from {least} on")
    return number


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of some words."""
    if value not in known:
        raise InputError(f"{name} is given as {value!r}; expected {' or '.join(repr(word) for word in known)}")
    return value


def text(name: str, value: Any) -> str:
    """A text or a path."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise InputError(f"{name} is given as {value!r}; expected a text")


def texts(name: str, values: Any) -> list[str]:
    """A list of texts. One text is a list of one."""
    return [text(name, value) for value in several(name, values)]


def several(name: str, values: Any) -> list[Any]:
    """A list of values. A text, a path or anything else that is no list is a list of one."""
    if isinstance(values, (str, bytes, Mapping, os.PathLike)) or not isinstance(values, Iterable):
        return [values]
    listed = list(values)
    if not listed:
        raise InputError(f"{name} is an empty list; expected at least one value")
    return listed


def overrides(given: Set) -> list[str]:
    """Overrides as `key=value`."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [f"{text('a key of set', key)}={_value(key, value)}" for key, value in given.items()]
    return texts("set", given)


def _value(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, (Mapping, list, tuple, set)):
        raise InputError(f"set[{key!r}] is given as {value!r}; expected a number or a text")
    return str(value)


def override_sets(given: Any) -> list[list[str]]:
    """All overrides of a sweep. A mapping may have a list for a key: every combination of its values is meant."""
    if given is None:
        return [[]]
    if isinstance(given, Mapping):
        lists = {key: several(f"set[{key!r}]", value) for key, value in given.items()}
        combinations = itertools.product(*lists.values())
        return [overrides(dict(zip(lists, combination))) for combination in combinations]
    if isinstance(given, str):
        return [[given]]
    return [overrides([one] if isinstance(one, str) else one) for one in several("set", given)]


def spec(
    system: Any, protocol: Any, workload: Any, given: list[str], scale: Any, seed: Any, annotate: Any
) -> dict[str, Any]:
    """The specification of a run."""
    return {
        "system": text("system", system),
        "protocol": text("protocol", protocol),
        "workload": text("workload", workload),
        "set": given,
        "scale": text("scale", scale),
        "seed": whole("seed", seed, least=0),
        "graph": None,
        "graph_format": None,
        "annotate": text("annotate", annotate),
    }
