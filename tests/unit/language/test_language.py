"""The check of the language finds planted examples and nothing else."""

import pytest

from language.check import Finding, check, check_names, is_checked
from language.names import INSIDE_NAMES, LOCAL_NAMES, WHOLE_NAMES
from language.rules import MESSAGE_OPENINGS, OPENINGS, WORDS

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


def find_violations(path: str, source: str) -> list[tuple[int, str]]:
    return [(line, message.partition(":")[0]) for _, line, message in check(path, source)]


def test_planted_examples_in_rust_are_found() -> None:
    assert find_violations("a.rs", RUST) == [
        (3, 'opens with "Whether"'),
        (5, '"lately"'),
        (6, 'opens with "Of"'),
        (8, 'opens with "Such"'),
    ]


def test_planted_examples_in_python_are_found() -> None:
    assert sorted(find_violations("a.py", PYTHON)) == [
        (1, 'opens with "What"'),
        (4, 'opens with "Those"'),
        (9, 'opens with "As"'),
        (11, '"nobody"'),
    ]


def test_planted_examples_in_markdown_are_found() -> None:
    assert find_violations("a.md", MARKDOWN) == [
        (1, 'opens with "What"'),
        (3, 'opens with "Such"'),
        (5, 'opens with "Of"'),
        (7, '"lately"'),
        (17, "longer than 120 columns"),
    ]


# One example for each place with texts that people read: path, source, line of the text.
PLACES = {
    "doc comment": ("rust_core/a/src/a.rs", "\n/// {}\nfn f() {{}}\n", 2),
    "module docs": ("rust_core/a/src/a.rs", "//! {}\n", 1),
    "docstring": ("python/foreseal/a.py", '"""{}"""\n', 1),
    "page": ("docs/a.md", "# A page\n\n{}\n", 3),
    "README": ("rust_core/a/README.md", "{}\n", 1),
    "Makefile help": ("Makefile", "build: $(CORE) ## {}\n", 1),
    "Makefile comment": ("Makefile", "# {}\n", 1),
    "configuration comment": ("pyproject.toml", "# {}\n", 1),
    "CLI help": ("python/foreseal/cli/a.py", '@click.option("--a", help="{}")\ndef a(): ...\n', 1),
    "setting": ("python/foreseal/server/settings/a.py", 'ROW = Setting(\n    key="a.b",\n    help="{}",\n)\n', 3),
    "metric HELP": ("python/foreseal/server/metrics/a.py", '\nFAMILY = Family("foreseal_a", "{}")\n', 2),
    "Python error": ("python/foreseal/a.py", 'def f():\n    raise ValueError(f"{} {{1}}")\n', 2),
    "Rust error": ("rust_core/a/src/a.rs", '\n#[error("{}")]\nstruct A;\n', 2),
    "Solidity comment": ("a.sol", "contract A {{\n    // {}\n}}\n", 2),
    "NatSpec": ("a.sol", "/// {}\ncontract A {{}}\n", 1),
    "NatSpec notice": ("a.sol", "/**\n * @notice {}\n */\ncontract A {{}}\n", 2),
    "NatSpec parameter": ("a.sol", "/// Moves it.\n/// @param to {}\n", 2),
    "JavaScript comment": ("a.mjs", "const a = 1; // {}\n", 1),
    "JSDoc": ("a.js", "\n/**\n * {}\n * @param {{string}} a\n */\n", 3),
    "JSDoc parameter": ("a.js", "/** Moves it. @param {{{{a: {{b: 1}}}}}} [a] {} */\n", 1),
    "JSDoc result": ("a.js", "/**\n * @returns {{string |\n *   null}} {}\n */\n", 3),
    "TypeScript comment": ("a.ts", "type A = {{\n  /** {} */\n  b: string;\n}};\n", 2),
    "style sheet": ("a.css", "\n/* {} */\nbody {{}}\n", 2),
    "log line": ("rust_core/a/src/a.rs", 'fn f() {{\n    tracing::warn!("{}");\n}}\n', 2),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("opening", OPENINGS)
def test_banned_opening_is_found_in_every_kind_of_text(place: str, opening: str) -> None:
    path, template, line = PLACES[place]
    lines = [
        at
        for at, message in find_violations(path, template.format(f"{opening} the node stores"))
        if "opens with" in message
    ]
    assert lines == [line]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("word", WORDS)
def test_banned_word_is_found_in_every_kind_of_text(place: str, word: str) -> None:
    path, template, line = PLACES[place]
    assert (line, f'"{word}"') in find_violations(path, template.format(f"Returns the block {word}"))


@pytest.mark.parametrize("place", ["Python error", "Rust error", "log line", "CLI help"])
@pytest.mark.parametrize("opening", MESSAGE_OPENINGS)
def test_message_in_lower_case_has_no_banned_opening(place: str, opening: str) -> None:
    path, template, line = PLACES[place]
    assert (line, f'opens with "{opening.lower()}"') in find_violations(
        path, template.format(f"{opening.lower()} node")
    )


@pytest.mark.parametrize("place", PLACES)
def test_standard_sentence_passes_in_every_kind_of_text(place: str) -> None:
    path, template, _ = PLACES[place]
    assert find_violations(path, template.format("Returns the block that the node stores")) == []


STRINGS = {
    "double": ("a.js", 'f("// Such a URL", "\\"// nobody");\n'),
    "single": ("a.ts", "f('https://nobody/', '/* Such */');\n"),
    "template": ("a.mjs", "f(`// Such ${g({ a: `/* nobody ${1}` })} // whoever`);\n"),
    "regular expression": ("a.js", "const [a] = b.match(/[/]*// Such|\\/\\/* nobody/);\n"),
    "regular expression behind a word": ("a.js", "return /'/.test(a) || `// nobody`;\n"),
    "division": ("a.js", "f((a) / 2, b[0] / 2, c / 2, '// nobody / whoever');\n"),
    "Solidity": ("a.sol", "string constant A = \"// Such\"; bytes constant B = '/* nobody */';\n"),
    "style sheet": ("a.css", "a { content: '/* Such */'; background: url(//nobody/*a); }\n/* Blue. */\n"),
    "style sheet without line comments": ("a.css", "a { color: red; } // nobody\n"),
}


@pytest.mark.parametrize("place", STRINGS)
def test_text_of_strings_is_no_comment(place: str) -> None:
    assert find_violations(*STRINGS[place]) == []


def test_comments_in_values_of_templates_are_read() -> None:
    source = "f(`${{ a: 1 }.a /* Such */} // nobody`); // lately\n"
    assert find_violations("a.js", source) == [(1, 'opens with "Such"'), (1, '"lately"')]


def test_comment_behind_a_division_is_read() -> None:
    assert find_violations("a.js", "const a = (b) / c; // nobody / whoever\n") == [(1, '"nobody"'), (1, '"whoever"')]


def test_only_the_first_line_of_consecutive_comments_opens_one() -> None:
    source = "// Returns the blocks\n// Of the chain.\nf(); // Where it is.\n// As before.\n"
    assert find_violations("a.ts", source) == [(3, 'opens with "Where"'), (4, 'opens with "As"')]


def test_tag_may_begin_in_lower_case_and_has_the_same_rules() -> None:
    source = "/**\n * @param {number} at whether it exists\n * @return whose it is\n * @typedef {string} Of\n */\n"
    assert find_violations("a.js", source) == [(2, 'opens with "Whether"'), (3, 'opens with "Whose"')]


def test_package_with_an_at_sign_is_no_tag() -> None:
    assert find_violations("a.sol", "/// Based on @openzeppelin/contracts of this version.\n") == []


def test_line_of_code_with_a_comment_may_be_overlong() -> None:
    assert find_violations("a.js", f"const a = /** @type {{number}} */ ({'b' * 120});\n") == []


@pytest.mark.parametrize("path", ["docs/a.md", "rust_core/a/src/a.rs", "a.sol", "a.ts"])
def test_overlong_line_of_prose_is_found(path: str) -> None:
    text = ("" if path.endswith(".md") else "/// ") + "word " * 22
    assert find_violations(path, text + "x" * (121 - len(text))) == [(1, "longer than 120 columns")]
    assert find_violations(path, text + "x" * (120 - len(text))) == []


def test_line_of_code_may_be_overlong() -> None:
    assert find_violations("rust_core/a/src/a.rs", 'const A: &str = "' + "x" * 120 + '";\n') == []


def test_strings_of_tests_are_not_checked() -> None:
    text = 'fn f() {\n    panic!("whoever it was");\n}\n'
    assert find_violations("rust_core/a/tests/a.rs", text) == []
    assert find_violations("rust_core/a/src/a.rs", "#[cfg(test)]\nmod tests {\n" + text + "}\n") == []
    assert find_violations("tests/unit/a.py", 'A = "nobody is there"\n') == []


def test_names_and_codes_in_strings_are_not_checked() -> None:
    assert find_violations("python/foreseal/a.py", 'A = ("nobody", "what")\n') == []


@pytest.mark.parametrize("word", INSIDE_NAMES)
def test_no_name_contains_a_banned_word(word: str) -> None:
    path = "rust_core/chain/src/feed.rs"
    assert named({path: f"fn last_{word}_block() {{}}\n"}) == [(path, 1, f'the name last_{word}_block has "{word}"')]


@pytest.mark.parametrize("word", WHOLE_NAMES)
def test_word_for_sentences_fails_only_as_a_full_name(word: str) -> None:
    path = "python/foreseal/feed.py"
    assert named({path: f"def {word}(): ...\n"}) == [(path, 1, f'the name {word} has "{word}"')]
    assert named({path: f"def {word}_block(): ...\n"}) == []
    assert find_violations(path, f'"""Return the {word} of the block."""\n') == []


def test_banned_words_of_sentences_and_names_are_separate_lists() -> None:
    assert not set(WORDS) & set(WHOLE_NAMES)


def test_python_constants_are_names() -> None:
    path = "python/foreseal/feed.py"
    source = "MOST_CALLS = 1\n_LOOK: float = 0.1\nclass Feed:\n    A, LEAST = 1, 2\n    most = 3\n"
    assert sorted(named({path: source})) == [
        (path, 1, 'the name MOST_CALLS has "most"'),
        (path, 2, 'the name _LOOK has "look"'),
        (path, 4, 'the name LEAST has "least"'),
    ]


def test_a_finding_names_its_file_and_the_remedy() -> None:
    findings = list(check("a.py", '"""Of the node."""'))
    assert findings == [Finding("a.py", 1, 'opens with "Of": begin with a verb or a noun phrase')]


def test_lists_and_pictures_are_not_checked() -> None:
    assert not is_checked("tests/support/language/rules.py")
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


@pytest.mark.parametrize("name", LOCAL_NAMES)
def test_forbidden_local_name_is_found_in_product_and_tests(name: str) -> None:
    rust = f'/// Calls {name}.\nfn open({name}: Node) {{\n    let a = "{name}";\n    f(&{name}_size);\n}}\n'
    assert named({"rust_core/node/tests/a.rs": rust}) == [("rust_core/node/tests/a.rs", 2, f"the name {name}")]
    python = f'"""{name}"""\nA = "{name}"  # {name}\nfor {name} in A: ...\nclass {name.title()}: ...\n'
    assert named({"tests/unit/a.py": python}) == [
        ("tests/unit/a.py", 3, f"the name {name}"),
        ("tests/unit/a.py", 4, f"the name {name.title()}"),
    ]
