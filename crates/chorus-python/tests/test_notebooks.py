"""Do the notebooks run, and do they show what Chorus's own figures show?"""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[3] / "examples" / "python"


def executed(name):
    notebook = nbformat.read(FOLDER / name, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return notebook


def texts(notebook):
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output["data"].get("text/plain", "") for output in outputs if "data" in output]


def test_every_notebook_is_executed_here():
    assert [path.name for path in FOLDER.glob("*.ipynb")] == ["tc-figure-7a.ipynb"]


def test_figure_7a_of_tc_is_that_of_reproduce(cli, tmp_path):
    notebook = executed("tc-figure-7a.ipynb")
    shown = texts(notebook)
    assert any("image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    [mean] = [float(found[1]) for text in shown if (found := re.match(r"'([0-9.]+) times as fast'", text))]
    reproduced = cli("reproduce", "tc", "--headline", "--out", tmp_path, "--json").json()
    [figure] = [figure for figure in reproduced["papers"][0]["figures"] if figure["id"] == "7a"]
    place = [series["label"] for series in figure["series"]].index("TCW")
    [group] = figure["means"]
    assert mean == pytest.approx(sum(group["bars"][place]["parts"]), abs=0.006)
