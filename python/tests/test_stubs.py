"""The stubs name what there is, and all of it."""

import ast
import pathlib

import typecase
from typecase import _typecase

STUBS = pathlib.Path(typecase.__file__).with_name("_typecase.pyi")


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_every_name_of_the_compiled_module_has_a_stub():
    tree = ast.parse(STUBS.read_text())
    stubs = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert public(vars(_typecase)) == public(stubs)
    for name, node in stubs.items():
        if isinstance(node, ast.ClassDef):
            members = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            assert public(vars(getattr(_typecase, name))) == public(members), name
