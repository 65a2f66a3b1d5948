"""Is a store read as tables and by SQL, and is anything else refused?"""

import chorus
import pytest


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kept")
    chorus.sweep("tc", ["gpu-vi", "tc-weak", "no-coh"], ["stn", "dlb"], keep=directory)
    return directory


def test_a_store_is_a_table(kept):
    runs = chorus.open_store(kept)
    frame = runs.to_pandas()
    assert len(frame) == 6 and set(frame["status"]) == {"pass", "refused"}
    assert chorus.open_store(kept / "results.sqlite").to_pandas().equals(frame)


def test_a_store_answers_sql(kept):
    runs = chorus.open_store(kept)
    query = """SELECT workload, min(cycles), max("l1.loads") FROM runs WHERE status = 'pass' GROUP BY 1 ORDER BY 1"""
    frame = runs.to_pandas()
    best = frame[frame["status"] == "pass"].groupby("workload")["cycles"].min()
    assert [row[:2] for row in runs.sql(query).fetchall()] == list(best.items())
    assert runs.sql("SELECT count(*) FROM kernels").fetchall()[0][0] == runs.kernels().num_rows
    assert runs.sql("SELECT count(*) FROM metrics").fetchall()[0][0] == runs.metrics().num_rows


def test_a_store_of_the_command_line_is_read(cli, tmp_path):
    cli("run", "--system", "tc", "--protocol", "gpu-vi", "--workload", "stn", "--keep", tmp_path)
    runs = chorus.open_store(tmp_path)
    assert runs[0].cycles == chorus.run("tc", "gpu-vi", "stn").cycles


def test_an_export_is_the_long_form(cli, kept, tmp_path):
    path = tmp_path / "runs.parquet"
    assert cli("export", kept, "--output", path).code == 0
    export, runs = chorus.open_store(path), chorus.open_store(kept)
    assert export.to_pandas().equals(runs.metrics().to_pandas())
    count = "SELECT count(*) FROM metrics WHERE metric = 'dram.reads' AND kernel IS NULL"
    assert export.sql(count).fetchall() == runs.sql(count).fetchall() == [(4,)]


def test_what_is_no_store_is_refused_as_on_the_command_line(cli, tmp_path):
    other = tmp_path / "other.sqlite"
    other.write_text("this is no database, but it is long enough to have a header of one" * 3)
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (other, empty, tmp_path / "absent"):
        with pytest.raises(chorus.InputError) as refused:
            chorus.open_store(path)
        assert str(refused.value) == cli("export", path).error()
    text = tmp_path / "text.parquet"
    text.write_text("no Parquet")
    with pytest.raises(chorus.InputError, match="text.parquet"):
        chorus.open_store(text)
