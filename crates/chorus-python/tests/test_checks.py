"""Are checks, litmus tests, tables and observations those of the command line?"""

import json

import chorus
from conftest import timeless


def test_a_check_is_that_of_the_command_line(cli):
    report = chorus.check("gpu-vi", smoke=True)
    assert report.passed and report.chart is None
    assert timeless(dict(report)) == timeless(cli("check", "gpu-vi", "--smoke", "--json").json())
    frame = report.to_pandas()
    assert frame["states"].sum() == report["states"] and frame["machine.caches_with_threads"].min() >= 2


def test_a_seeded_fault_is_found(cli):
    report = chorus.check("gpu-vi", fault="stale-refill")
    assert not report.passed and "load" in report.chart
    printed = cli("check", "gpu-vi", "--fault", "stale-refill", "--json")
    assert printed.code == 1 and timeless(dict(report)) == timeless(printed.json())


def test_one_machine_and_the_chiplet_table_are_checked(cli):
    report = chorus.check("gpu-vi", machine="caches=2,operations=1", states=1_000_000, threads=1)
    assert report.passed and report.num_rows == 1
    table = chorus.check("cpelide", config="table-streams")
    assert table.tables().num_rows == 1 and table.num_rows == 0
    assert timeless(dict(table)) == timeless(cli("check", "cpelide", "--config", "table-streams", "--json").json())


def test_litmus_tests_are_those_of_the_command_line(cli):
    report = chorus.litmus("tc-weak", ["MP", "SB", "mp+fences"])
    printed = cli("litmus", "tc-weak", "MP", "SB", "mp+fences", "--json").stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    for line in lines:
        del line["schema_version"]
    tests = [line for line in lines if line.pop("kind") == "test"]
    assert report["tests"] == tests and report["summary"] == lines[-1]
    frame = report.to_pandas()
    assert frame["name"].tolist() == ["MP", "SB", "MP+fences"]
    assert list(frame["reached"][0]) == tests[0]["reached"]


def test_the_table_is_that_of_the_command_line(cli):
    table = chorus.table("gpu-vi")
    assert table.to_text() == cli("table", "gpu-vi").stdout
    assert table.to_markdown() == cli("table", "gpu-vi", "--format", "markdown").stdout
    frame = table.to_pandas()
    assert {"L1", "L2"} <= {title.split()[0] for title in frame["controller"]} or len(set(frame["controller"])) >= 2
    assert all(len(reactions) for reactions in frame["reactions"])


def test_why_is_that_of_the_command_line(cli):
    run = ["why", "--system", "tc", "--protocol", "mesi", "--workload", "stn", "--json"]
    slowest = chorus.why("tc", "mesi", "stn", slowest=2)
    assert slowest["runs"] == cli(*run, "--slowest", "2").json()["runs"]
    frame = slowest.to_pandas()
    for _, rows in frame.groupby("number"):
        lengths = (rows["until"] - rows["from"]).sum()
        assert lengths == rows["ended"].iloc[0] - rows["issued"].iloc[0], "intervals adjoin"
    both = chorus.why("tc", "mesi", "stn", against="tc-weak")
    assert both["runs"] == cli(*run, "--against", "tc-weak").json()["runs"]
    frame = both.to_pandas()
    assert frame["run"].nunique() == 2
    whole = frame[frame["kernel"].isna() & frame["buffer"].isna() & (frame["purpose"] == "loads")]
    by_kernel = frame[frame["kernel"].notna() & (frame["purpose"] == "loads")]
    assert abs(whole["cycles"].sum() - by_kernel["cycles"].sum()) < 1
