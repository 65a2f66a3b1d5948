"""The command line, with which results are compared."""

import json
import os
import subprocess

import pytest


class Ended:
    """A command that has ended."""

    def __init__(self, arguments):
        program = os.environ.get("CHORUS")
        if program is None:
            pytest.skip("CHORUS does not name the command line")
        command = [program, "--no-progress", *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        self.code, self.stdout, self.stderr = ended.returncode, ended.stdout, ended.stderr

    def json(self):
        return json.loads(self.stdout)

    def error(self):
        """The message on stderr without the word before it."""
        assert self.code == 2, (self.code, self.stderr)
        return self.stderr.removeprefix("error: ").rstrip()


@pytest.fixture
def cli():
    """Runs `chorus` with some arguments."""
    return lambda *arguments: Ended(arguments)


#: Fields that differ between two equal runs. Builds of one tree may carry different revisions of it.
OTHERS = ("wall_s", "user_s", "peak_rss_bytes", "seconds", "git_revision")


def timeless(value):
    """A result without the times that it took and the build that made it."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key not in OTHERS}
    if isinstance(value, list):
        return [timeless(inner) for inner in value]
    return value
