"""The check of the language finds planted examples and nothing else."""

from language.check import Finding, check, is_checked

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
