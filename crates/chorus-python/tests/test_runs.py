"""Is a run that of the command line, and are its tables taken over without a copy?"""

import warnings

import chorus
import pandas
import pyarrow
import pytest
from conftest import timeless

RUNS = [
    (("tc", "gpu-vi", "stn"), {}, []),
    (
        ("tc", "tc-weak-fixed", "hsp"),
        {"set": {"lease.cycles": 400, "l1.ways": 8}},
        ["--set", "lease.cycles=400", "--set", "l1.ways=8"],
    ),
    (("hmg", "hmg", "mst"), {"seed": 7, "threads": 2}, ["--seed", "7"]),
    (("tc", "gpu-vi", "saxpy"), {"set": ["workload.elements=2^12"]}, ["--set", "workload.elements=2^12"]),
    (("cpelide", "cpelide", "square"), {"annotate": "auto"}, ["--annotate", "auto"]),
    (
        ("tc", "gpu-vi", "stn"),
        {"every": 5000, "distributions": True, "sharing": True},
        ["--every", "5000", "--distributions", "--sharing"],
    ),
]


@pytest.mark.parametrize("names, keywords, options", RUNS)
def test_a_run_is_that_of_the_command_line(cli, names, keywords, options):
    system, protocol, workload = names
    run = chorus.run(system, protocol, workload, **keywords)
    printed = cli("run", "--system", system, "--protocol", protocol, "--workload", workload, *options, "--json")
    assert timeless(dict(run)) == timeless(printed.json())


def test_a_run_is_a_row():
    run = chorus.run("tc", "tc-strong", "stn", set={"l1.ways": 8})
    frame = run.to_pandas()
    assert len(frame) == 1
    row = frame.iloc[0]
    assert row["cycles"] == run.cycles and row["status"] == run.result == "pass"
    assert row["set.l1.ways"] == "8" and row["sizes.steps"] == run["sizes"]["steps"]
    assert row["parameters.lease.cycles"] == run["parameters"]["lease.cycles"]
    assert {name: row[name] for name in run["metrics"]} == run["metrics"]


def test_kernels_and_metrics_are_tables():
    run = chorus.run("tc", "gpu-vi", "stn", every=5000)
    kernels = run.kernels().to_pandas()
    assert kernels["cycles"].tolist() == [kernel["cycles"] for kernel in run["kernels"]]
    assert kernels["l1.loads"].tolist() == [kernel["metrics"]["l1.loads"] for kernel in run["kernels"]]
    metrics = run.metrics().to_pandas()
    whole = metrics[metrics["kernel"].isna()].set_index("metric")["value"]
    assert whole.to_dict() == run["metrics"]
    series = run.series().to_pandas()
    assert series.groupby("metric")["value"].sum()["l1.loads"] == run["metrics"]["l1.loads"]


def test_other_libraries_read_a_table_where_it_is():
    run = chorus.run("tc", "gpu-vi", "stn")
    metrics = run.metrics()

    def place(table):
        return table["value"].chunk(0).buffers()[1].address

    first, second = pyarrow.table(metrics), pyarrow.table(metrics)
    assert place(first) == place(second), "both look at the same memory"
    batch = pyarrow.record_batch(metrics)
    assert batch.column("value").buffers()[1].address == place(first), "also as an array"
    assert pyarrow.schema(metrics) == first.schema
    value = first["value"]
    del metrics, first, second, batch, run
    assert value.to_pylist()[0] is not None, "the memory lives as long as anybody looks at it"


def test_a_capsule_that_nobody_reads_is_freed():
    table = chorus.protocols()
    for _ in range(100):
        table.__arrow_c_stream__()
        table.__arrow_c_array__()
        table.__arrow_c_schema__()


def test_a_wrong_result_is_a_warning_and_a_refusal_an_error():
    with pytest.raises(chorus.InputError, match="does not run under no-coh"):
        chorus.run("tc", "no-coh", "dlb")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run = chorus.run("tc", "no-coh", "stn", allow_incoherent=True)
        except chorus.RunError as error:
            assert error.kind == "stuck"
        else:
            assert run.result == "fail" and run.message
            assert [warning.category for warning in caught] == [chorus.WrongResultWarning]


def test_everything_that_has_a_name_is_that_of_the_command_line(cli):
    listed = cli("list", "--json").json()
    del listed["schema_version"]
    assert chorus.list() == listed
    for kind in ("systems", "protocols", "workloads", "experiments"):
        frame = getattr(chorus, kind)().to_pandas()
        assert isinstance(frame, pandas.DataFrame)
        assert frame["name"].tolist() == [entry["name"] for entry in listed[kind]]
    protocols = chorus.protocols().to_arrow()
    assert pyarrow.types.is_list(protocols["faults"].type)
    faults = dict(zip(protocols["name"].to_pylist(), protocols["faults"].to_pylist()))
    assert "stale-refill" in faults["gpu-vi"]
