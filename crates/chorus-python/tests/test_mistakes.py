"""Is every wrong argument an `InputError` with one message that says what would be accepted?"""

import chorus
import pytest

RUN = ("run", "--system", "tc", "--protocol", "gpu-vi", "--workload", "stn")

#: Arguments of `chorus.run`, and the command line that means the same.
SAME = [
    ({"protocol": "gpu-v"}, ("--protocol", "gpu-v")),
    ({"workload": "sttn"}, ("--workload", "sttn")),
    ({"system": "absent.toml"}, ("--system", "absent.toml")),
    ({"set": {"l1.wayz": 8}}, ("--set", "l1.wayz=8")),
    ({"set": {"l1.ways": "many"}}, ("--set", "l1.ways=many")),
    ({"set": {"lease.cycles": 1}}, ("--set", "lease.cycles=1")),
    ({"set": {"workload.steps": -1}}, ("--set", "workload.steps=-1")),
    ({"set": ["nonsense"]}, ("--set", "nonsense")),
    ({"protocol": "no-coh", "workload": "dlb"}, ("--protocol", "no-coh", "--workload", "dlb")),
    ({"workload": "bfs", "graph": "absent.gr"}, ("--workload", "bfs", "--graph", "absent.gr")),
]


def command(options):
    """The command of a plain run with some options replaced."""
    words = list(RUN)
    for name, value in zip(options[::2], options[1::2]):
        if name in words:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    return words


@pytest.mark.parametrize("keywords, options", SAME)
def test_a_message_is_that_of_the_command_line(cli, keywords, options):
    with pytest.raises(chorus.InputError) as refused:
        chorus.run(**{"system": "tc", "protocol": "gpu-vi", "workload": "stn", **keywords})
    assert str(refused.value) == cli(*command(options)).error()
    assert isinstance(refused.value, ValueError)


def test_a_mistake_in_a_file_is_shown_with_its_line(cli, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "tc"\nname = "mine"\ntitle = "mine"\nsource = "mine"\n[l1]\nwayz = 4 # source: mine\n')
    with pytest.raises(chorus.InputError) as refused:
        chorus.run(str(path), "gpu-vi", "stn")
    assert str(refused.value) == cli(*command(("--system", str(path)))).error()
    assert "mine.toml:6:1" in str(refused.value) and "wayz = 4" in str(refused.value)


WRONG = [
    (lambda: chorus.run("tc", "gpu-vi", None), "workload is given as None"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", seed=-1), "seed is given as -1"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", seed=1.5), "seed is given as 1.5"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", seed=2**64), "expected a whole number"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", scale="huge"), "huge"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", scale=3), "scale is given as 3"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", annotate="atuo"), "did you mean `auto`"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", threads=0), "expected a whole number from 1"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", threads=1000), "from 1 to 256"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", every=0), "every is given as 0"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", set={"l1.ways": None}), "expected a number or a text"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", set={3: 4}), "a key of set is given as 3"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", set=3), "set is given as 3"),
    (lambda: chorus.run("tc", "gpu-vi", "stn", graph_format="snap"), "without a graph"),
    (lambda: chorus.run("tc", "no-coh", "dlb", keep="x", allow_incoherent=True), "keep is given with"),
    (lambda: chorus.run("tc", "gpu-vi", "st\0n"), "unknown workload"),
    (lambda: chorus.sweep("tc", [], "stn"), "protocol is an empty list"),
    (lambda: chorus.sweep("tc", "gpu-vi", "stn", jobs=0), "jobs is given as 0"),
    (lambda: chorus.sweep("tc", "gpu-vi", "stn", set={"l1.ways": []}), "empty list"),
    (lambda: chorus.sweep("tc", "gpu-vi", "stn", seed=["a"]), "seed is given as 'a'"),
    (lambda: chorus.check("gpu"), "unknown protocol `gpu`"),
    (lambda: chorus.check("gpu-vi", config="smoky"), "did you mean `smoke`"),
    (lambda: chorus.check("gpu-vi", machine="caches=many"), "--machine caches=many"),
    (lambda: chorus.check("gpu-vi", fault="nothing"), "unknown fault of gpu-vi"),
    (lambda: chorus.check("gpu-vi", smoke=True, full=True), "smoke and full exclude each other"),
    (lambda: chorus.check("gpu-vi", states=-5), "states is given as -5"),
    (lambda: chorus.litmus("gpu-vi", "MPP"), "unknown litmus test"),
    (lambda: chorus.litmus("gpu-vi", ["absent.litmus"]), "absent.litmus"),
    (lambda: chorus.litmus("gpu-vi", [3]), "tests is given as 3"),
    (lambda: chorus.litmus("gpu-vi", core="slow"), "'posted' or 'blocking'"),
    (lambda: chorus.table("gpu"), "unknown protocol"),
    (lambda: chorus.why("tc", "gpu-vi", "stn", load=10**12), "no access of number"),
    (lambda: chorus.why("tc", "gpu-vi", "stn", wave="3.7"), "wave is given as"),
    (lambda: chorus.why("tc", "gpu-vi", "stn", wave=(3, 70000)), "no such numbers"),
    (lambda: chorus.open_store(3), "path is given as 3"),
]


@pytest.mark.parametrize("call, words", WRONG)
def test_a_wrong_argument_is_named_with_what_is_accepted(call, words):
    with pytest.raises(chorus.InputError) as refused:
        call()
    assert words in str(refused.value)


def test_a_word_that_is_no_argument_is_an_error_of_python():
    with pytest.raises(TypeError, match="sytsem"):
        chorus.run(sytsem="tc", protocol="gpu-vi", workload="stn")


def test_a_directory_that_cannot_be_written_is_told_first(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(chorus.InputError, match="cannot write results store"):
        chorus.run("tc", "gpu-vi", "stn", keep=blocked / "inside")


def test_a_package_that_is_missing_is_named(monkeypatch):
    runs = chorus.sweep("tc", "gpu-vi", "stn")
    for name, use in (("pyarrow", runs.to_arrow), ("pandas", runs.to_pandas), ("duckdb", lambda: runs.sql("SELECT 1"))):
        with monkeypatch.context() as patch:
            patch.setitem(__import__("sys").modules, name, None)
            with pytest.raises(chorus.MissingPackageError, match=f"pip install {name}") as missing:
                use()
            assert isinstance(missing.value, ImportError)
    assert runs[0].result == "pass", "the run itself needs none of them"


def test_errors_survive_pickling():
    import pickle

    for error in (chorus.InputError("no"), chorus.RunError("no progress", "stuck")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
