"""Do the declared types and the documentation fit the functions?"""

import ast
import inspect
from pathlib import Path

import chorus
from chorus import _native


def test_the_stub_declares_every_native_function_and_no_other():
    stub = ast.parse((Path(chorus.__file__).parent / "_native.pyi").read_text())
    declared = {node.name: node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    present = {name for name in dir(_native) if not name.startswith("__")}
    assert set(declared) == present
    for name, node in declared.items():
        if isinstance(node, ast.FunctionDef):
            parameters = [argument.arg for argument in node.args.args]
            assert list(inspect.signature(getattr(_native, name)).parameters) == parameters, name
        else:
            methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            fields = {part.target.id for part in node.body if isinstance(part, ast.AnnAssign)}
            native = getattr(_native, name)
            members = {member for member in vars(native) if not member.startswith("__") or "arrow" in member}
            assert members <= methods | fields <= set(dir(native)), name


def test_everything_public_is_documented_and_typed():
    assert (Path(chorus.__file__).parent / "py.typed").is_file()
    for name in chorus.__all__:
        thing = getattr(chorus, name)
        assert thing.__doc__, name
        if inspect.isfunction(thing):
            hints = thing.__annotations__
            assert set(inspect.signature(thing).parameters) | {"return"} == set(hints), name


def test_the_version_is_that_of_the_command_line(cli):
    assert cli("--version").stdout.split() == ["chorus", chorus.__version__]
