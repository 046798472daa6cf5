"""The check of the language finds planted examples and nothing else."""

from language.check import Finding, check, check_names, is_checked

RUST = """//! Blocks by hash.

/// Whether the block exists.
pub fn has(&self) -> bool {
    // The cache lately failed here.
    let text = "/// What is no comment"; // Of the last call.
    let raw = r#"// Whatever "this" is"#;
    /* Such a block /* nested */ comment */
    let quote = '"'; // Returns early: see above.
}

/// Returns the hash.
///
/// Where a paragraph opens does not matter.
"""

PYTHON = '''"""What this module does."""

SIZE = 1
"""Those bytes that are kept."""


def size() -> int:
    """Return the size."""
    # As before.
    text = "# Whether this is a comment"
    return SIZE  # nobody reads it
'''

MARKDOWN = f"""# What it is

* Such an item, and
  what continues it.
1. Of a list.

The node answers lately, and `whoever` is code.

```sh
echo whatever
```

<!-- made by settings -->
nobody
<!-- end -->

{"x" * 121}
| {"x" * 121} |
"""


def found(path: str, source: str) -> list[tuple[int, str]]:
    return [(line, message.partition(":")[0]) for _, line, message in check(path, source)]


def test_planted_examples_in_rust_are_found() -> None:
    assert found("a.rs", RUST) == [
        (3, 'opens with "Whether"'),
        (5, '"lately"'),
        (6, 'opens with "Of"'),
        (8, 'opens with "Such"'),
    ]


def test_planted_examples_in_python_are_found() -> None:
    assert sorted(found("a.py", PYTHON)) == [
        (1, 'opens with "What"'),
        (4, 'opens with "Those"'),
        (9, 'opens with "As"'),
        (11, '"nobody"'),
    ]


def test_planted_examples_in_markdown_are_found() -> None:
    assert found("a.md", MARKDOWN) == [
        (1, 'opens with "What"'),
        (3, 'opens with "Such"'),
        (5, 'opens with "Of"'),
        (7, '"lately"'),
        (17, "longer than 120 columns"),
    ]


def test_a_finding_names_its_file_and_the_remedy() -> None:
    findings = list(check("a.py", '"""Of the node."""'))
    assert findings == [Finding("a.py", 1, 'opens with "Of": begin with a verb or a noun phrase')]


def test_vendored_files_are_not_checked() -> None:
    assert not is_checked("rust_core/store/vendor/lmdb-master-sys/README.md")
    assert is_checked("rust_core/store/README.md")
    assert not is_checked("docs/million.svg")


NAMES = """
pub struct Whole;
pub(crate) enum Place {}
impl Feed {
    pub fn take(&self) {}
    fn take_diff(&mut self) {}
    const LEAST_GAS: u64 = 1;
}
mod unknown {}
fn tell_fees() {}
#[cfg(test)]
mod tests {
    fn nobody_is_told() {}
}
"""

PYTHON_NAMES = """
class Cursor:
    def look(self): ...
    def lookup(self): ...
def asked(): ...
"""


def named(files: dict[str, str]) -> list[tuple[str, int, str]]:
    return [(path, line, message.partition(":")[0]) for path, line, message in check_names(files)]


def test_planted_names_are_found() -> None:
    assert named({"rust_core/chain/src/feed.rs": NAMES}) == [
        ("rust_core/chain/src/feed.rs", 3, 'the name Place has "place"'),
        ("rust_core/chain/src/feed.rs", 5, 'the name take has "take"'),
        ("rust_core/chain/src/feed.rs", 7, 'the name LEAST_GAS has "least"'),
        ("rust_core/chain/src/feed.rs", 10, 'the name tell_fees has "tell"'),
    ]
    assert sorted(named({"python/foreseal/feed.py": PYTHON_NAMES})) == [
        ("python/foreseal/feed.py", 3, 'the name look has "look"'),
        ("python/foreseal/feed.py", 5, 'the name asked has "asked"'),
    ]
    assert named({"rust_core/chain/src/tests/feed.rs": NAMES, "tests/support/feed.py": PYTHON_NAMES}) == []


def test_two_types_of_one_layer_do_not_share_a_name() -> None:
    source = "pub struct Head;\nimpl Head {\n    type Head = u8;\n}\n"
    evm, store, rpc = (f"rust_core/{crate}/src/head.rs" for crate in ("evm", "store", "rpc"))
    assert named({evm: source, store: source, rpc: source}) == [
        (store, 1, f"Head is also a type in {evm}"),
    ]
