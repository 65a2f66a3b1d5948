"""Does a sweep make every combination, keep it, and go on from there?"""

import chorus
import pytest


def test_a_sweep_has_every_combination_in_order():
    runs = chorus.sweep("tc", ["gpu-vi", "tc-weak"], ["stn", "hsp"], set={"l1.ways": [4, 8]}, seed=[1, 2], jobs=2)
    frame = runs.to_pandas()
    found = list(zip(frame["protocol"], frame["workload"], frame["set.l1.ways"], frame["seed"]))
    expected = [
        (protocol, workload, ways, seed)
        for protocol in ("gpu-vi", "tc-weak")
        for workload in ("stn", "hsp")
        for ways in ("4", "8")
        for seed in (1, 2)
    ]
    assert found == expected
    assert (frame["status"] == "pass").all()
    assert [run.cycles for run in runs] == frame["cycles"].tolist()
    assert runs[-1]["seed"] == 2 and len(runs[:3]) == 3


def test_a_run_of_a_sweep_is_that_of_a_single_run():
    alone = chorus.run("tc", "tc-weak", "hsp", seed=3)
    swept = chorus.sweep("tc", ["gpu-vi", "tc-weak"], "hsp", seed=3)[1]
    assert (swept.cycles, swept["metrics"]) == (alone.cycles, alone["metrics"])


def test_sets_may_be_a_list_of_mappings():
    runs = chorus.sweep("tc", "tc-strong", "stn", set=[{}, {"l1.ways": 8, "lease.cycles": 100}])
    assert [run["set"] for run in runs] == [[], ["l1.ways=8", "lease.cycles=100"]]


def test_a_refused_run_has_a_row_and_the_others_go_on():
    frame = chorus.sweep("tc", ["no-coh", "gpu-vi"], "dlb").to_pandas()
    assert frame["status"].tolist() == ["refused", "pass"]
    assert "within a kernel" in frame["message"][0] and frame["message"].isna()[1]
    assert frame["cycles"].isna().tolist() == [True, False]


def test_runs_that_are_kept_are_not_repeated(tmp_path):
    first = chorus.sweep("tc", "gpu-vi", ["stn", "hsp"], keep=tmp_path)
    again = chorus.sweep("tc", "gpu-vi", ["stn", "hsp", "lps"], keep=tmp_path)
    assert [run["wall_s"] for run in again[:2]] == [run["wall_s"] for run in first]
    assert len(chorus.open_store(tmp_path)) == 3


def test_a_mistake_in_one_run_is_told_before_any_run():
    seen = []
    with pytest.raises(chorus.InputError, match="did you mean `stn`"):
        chorus.sweep("tc", "gpu-vi", ["stn", "sttn"], progress=lambda *told: seen.append(told))
    assert not any(done for done, _, _ in seen)
