"""The check of bindings finds each kind of binding in Python and Rust, and no other use of the word."""

import pytest

from language.bindings import BINDING_NAMES
from language.check import check_names
from language.names import LOCAL_NAMES

PYTHON = {
    "assignment": "{} = 1\n",
    "annotation": "{}: int\n",
    "tuple": "first, *{} = rows\n",
    "field": "class Range:\n    {}: int = 0\n",
    "attribute": "self.{} = 1\n",
    "parameter": "def f(a, /, *, {}=1): ...\n",
    "variable parameters": "def f(*{}): ...\n",
    "lambda": "f(lambda {}: 1)\n",
    "loop": "for {} in rows: ...\n",
    "comprehension": "rows = [1 for {} in rows]\n",
    "named expression": "if ({} := f()): ...\n",
    "named expression in a text": 'f(f"{{({} := g())}}")\n',
    "context": "with f() as {}: ...\n",
    "exception": "try: ...\nexcept OSError as {}: ...\n",
    "import": "from a import b as {}\n",
    "case": "match a:\n    case {{'b': {}}}: ...\n",
    "rest of a case": "match a:\n    case {{**{}}}: ...\n",
    "alias of a case": "match a:\n    case [1, *_] as {}: ...\n",
}

RUST = {
    "let": "fn f() {{\n    let mut {} = 1;\n}}\n",
    "let with a type": "fn f() {{\n    let {}: u8 = 1;\n}}\n",
    "let else": "fn f() {{\n    let Some({}) = a else {{ return }};\n}}\n",
    "if let": "fn f() {{\n    if let Some((_, {})) = a {{}}\n}}\n",
    "tuple in a field": "fn f() {{\n    let Range {{ end: (_, {}), .. }} = a;\n}}\n",
    "value behind other fields": "fn f() {{\n    let Range {{ a, b: B {{ c }}, end: {}, .. }} = a;\n}}\n",
    "value of a field": "fn f() {{\n    let Range {{ end: {} }} = a;\n}}\n",
    "loop": "fn f() {{\n    for (_, {}) in rows {{}}\n}}\n",
    "parameter": "impl<T: Fn(u8)> A {{\n    fn f<T>(\n        &self, {}: &[u8]) {{}}\n}}\n",
    "closure": "fn f() {{\n    a.map(|{}| 1)\n}}\n",
    "closure with a tuple": "fn f() {{\n    a.fold(0, move |sum, ({}, _)| 1)\n}}\n",
    "borrowed closure": "fn f() {{\n    walk(&mut |{}: u8| 1)\n}}\n",
    "match": "fn f() {{\n    match a {{\n        Some({}) if b => 1,\n    }}\n}}\n",
    "name of a pattern": "fn f() {{\n    match a {{\n        {} @ 1..=2 => 1,\n    }}\n}}\n",
}

UNBOUND = {
    "function.py": "def {0}(): ...\nb.{0}({0}=1)\nb = {0}()\n",
    "longer.py": "{0}_block, _{0}, un{0} = 1, 2, 3\n",
    "text.py": 'a = "{0} = 1"  # {0} = 1\n',
    "function.rs": "fn {0}() {{\n    let a = {0}();\n    b.{0} = self.{0}(&|a| a.{0});\n}}\n",
    "variant.rs": "pub enum Error {{\n    Other {{ {0}: u64 }},\n}}\n",
    "value.rs": "fn f() {{\n    let error = Error::Other {{ {0}: 1 }};\n}}\n",
    "field.rs": "fn f() {{\n    let Range {{ {0}: end }} = a;\n}}\n",
    "fields.rs": "fn f() {{\n    let Range {{ first: (a, b), {0}, .. }} = a;\n    if let A {{ {0} }} = b {{}}\n}}\n",
    "longer.rs": "fn f({0}_block: u8) {{\n    let un{0} = a::{0}::b;\n}}\n",
    "text.rs": 'fn f() {{\n    let a = "let {0} = 1"; // |{0}|\n}}\n',
}


def named(path: str, source: str) -> list[tuple[str, int, str]]:
    return [(path, line, message) for path, line, message in check_names({path: source})]


def line_of(source: str, name: str) -> int:
    return 1 + next(number for number, line in enumerate(source.splitlines()) if name in line)


@pytest.mark.parametrize("kind", PYTHON)
@pytest.mark.parametrize("name", BINDING_NAMES)
@pytest.mark.parametrize("path", ["python/foreseal/a.py", "tests/unit/a.py"])
def test_forbidden_binding_in_python_is_found(path: str, name: str, kind: str) -> None:
    source = PYTHON[kind].format(name)
    assert named(path, source) == [(path, line_of(source, name), f"the name {name}: use the noun of its type")]


@pytest.mark.parametrize("kind", RUST)
@pytest.mark.parametrize("name", BINDING_NAMES)
@pytest.mark.parametrize("path", ["rust_core/a/src/a.rs", "rust_core/a/tests/a.rs"])
def test_forbidden_binding_in_rust_is_found(path: str, name: str, kind: str) -> None:
    source = RUST[kind].format(name)
    assert named(path, source) == [(path, line_of(source, name), f"the name {name}: use the noun of its type")]


@pytest.mark.parametrize("kind", UNBOUND)
@pytest.mark.parametrize("name", sorted({*BINDING_NAMES} - {*LOCAL_NAMES}))
def test_use_that_binds_no_name_passes(name: str, kind: str) -> None:
    assert named(f"rust_core/{kind}", UNBOUND[kind].format(name)) == []


def test_each_binding_of_a_line_is_one_finding_of_its_line() -> None:
    source = "fn f(found: u8) {\n    let gone = past.map(|found| found);\n}\n"
    assert [(line, text.split(":")[0]) for _, line, text in named("rust_core/a/src/a.rs", source)] == [
        (1, "the name found"),
        (2, "the name found"),
        (2, "the name gone"),
    ]
