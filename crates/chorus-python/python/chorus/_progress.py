"""Progress of calls that take long: a bar of tqdm, or lines where tqdm is not installed.

Nothing is shown in the first two seconds.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator, Optional, Union

#: A function that is told how much is done, of how much if that is known, and what is under way.
Watcher = Callable[[float, Optional[float], str], Any]
#: `None` shows progress in the usual way, `False` shows nothing, and a function is called several times a second.
Progress = Union[None, bool, Watcher]

#: Calls that are shorter show nothing.
SILENT_SECONDS = 2.0
#: The time between two lines in a file.
LINE_SECONDS = 30.0


class Display:
    """The progress of one call. It is shown from the third second on."""

    def __init__(self, name: str, unit: str) -> None:
        self.name = name
        self.unit = unit
        self.begin = time.monotonic()
        self.bar: Any = None
        self.has_lines = False
        self.next_line = self.begin + SILENT_SECONDS
        self.width = 0

    def __call__(self, done: float, total: Optional[float], what: str) -> None:
        now = time.monotonic()
        if now - self.begin < SILENT_SECONDS:
            return
        if self.bar is None and not self.has_lines:
            self.bar = self._tqdm(total)
            self.has_lines = self.bar is None
        if self.bar is not None:
            if total is not None:
                self.bar.total = _plain(total)
            self.bar.n = _plain(done)
            self.bar.set_postfix_str(what, refresh=False)
            self.bar.refresh()
        elif now >= self.next_line:
            self._line(now, done, total, what)

    def _tqdm(self, total: Optional[float]) -> Any:
        """A bar that fits a terminal or a notebook. There is none without tqdm, and none in a file."""
        if not (sys.stderr.isatty() or _is_notebook()):
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        bar = tqdm(total=total, desc=self.name, unit=" " + self.unit, leave=False)
        # The time left is told from the begin of the call, not from the moment at which the bar appears.
        bar.start_t -= time.monotonic() - self.begin
        return bar

    def _line(self, now: float, done: float, total: Optional[float], what: str) -> None:
        elapsed = now - self.begin
        text = f"{self.name}: {elapsed:.0f} s"
        if total is not None:
            text = f"{self.name}: {done:.1f} of {total:.0f} {self.unit}"
            if 0 < done < total:
                text += f", {elapsed * (total - done) / done:.0f} s left"
        text += f", {what}" if what else ""
        if sys.stderr.isatty():
            self.next_line = now + 0.25
            print("\r" + text.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(text)
        else:
            self.next_line = now + LINE_SECONDS
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Removes the bar or the line."""
        if self.bar is not None:
            self.bar.close()
        elif self.width:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


def _plain(number: float) -> Union[int, float]:
    """A number without the decimals that it does not need."""
    return int(number) if number == int(number) else round(number, 2)


def _is_notebook() -> bool:
    """Whether this is the kernel of a notebook, where a bar is a widget."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def watched(progress: Progress, name: str, unit: str) -> Iterator[Optional[Watcher]]:
    """The function that is told of the progress of a call."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield None
    else:
        display = Display(name, unit)
        try:
            yield display
        finally:
            display.close()
