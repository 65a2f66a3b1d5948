"""Is progress told, in a bar where there is tqdm and in lines elsewhere?"""

import sys

import chorus
from chorus import _progress


def test_a_function_is_told_how_far_a_sweep_has_come():
    told = []
    chorus.sweep("tc", ["gpu-vi", "mesi"], ["stn", "hsp", "lps"], jobs=1, progress=lambda *now: told.append(now))
    assert told and all(0 <= done <= total for done, total, _ in told if total is not None)
    assert {total for _, total, _ in told} <= {1.0, 6.0}
    assert any(" on " in what for _, _, what in told)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_a_short_call_shows_nothing(monkeypatch, capfd):
    # Also on a machine where much else goes on, this call is short.
    monkeypatch.setattr(_progress, "SILENT_SECONDS", 60.0)
    chorus.run("tc", "gpu-vi", "saxpy", set={"workload.elements": 1024})
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_without_tqdm_there_are_lines(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "SILENT_SECONDS", 0.0)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with _progress.watched(None, "sweep", "runs") as shown:
        shown(1.0, 4.0, "gpu-vi on stn")
        shown(2.0, 4.0, "gpu-vi on hsp")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, "a line now, and the next one later"
    assert lines[0].startswith("sweep: 1.0 of 4 runs, ") and lines[0].endswith(" s left, gpu-vi on stn")


def test_with_tqdm_there_is_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _progress.watched(None, "gpu-vi on stn", "kernels") as shown:
        shown(0.5, None, "cycle 100")
        shown(1.5, 4.0, "cycle 200")
    bar = capsys.readouterr().err
    assert "gpu-vi on stn" in bar and "1.5/4" in bar and "cycle 200" in bar


def test_nobody_is_told_where_progress_is_off(capsys):
    with _progress.watched(False, "sweep", "runs") as shown:
        assert shown is None
    assert capsys.readouterr().err == ""
