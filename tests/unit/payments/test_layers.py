"""The layers of the payments: imports point down only."""

import ast
from pathlib import Path

import foreseal.payments

ROOT = Path(foreseal.payments.__file__).parent

# Lowest first; modules of one layer do not import each other.
LAYERS = [
    {"merchant_context"},
    {
        "abi",
        "amounts",
        "crash_points",
        "contracts",
        "group_operation",
        "metrics",
        "periodic_thread",
        "request_bodies",
        "stop_signal",
        "task_progress",
    },
    {"typed_data"},
    {"validation"},
    {"chain"},
    {"ledger"},
    {"transactions", "merchant", "signatures"},
    {"transfers"},
    {"orders", "disbursements"},
    {"configuration"},
    {"destinations"},
    {"api"},
    {"telemetry"},
    {"workers"},
    {"hosting"},
    {"x402"},
    {"demo"},
]
# Folders outside the product's layers.
APART = {"testing"}


def test_imports_point_down_only() -> None:
    layer = {name: number for number, names in enumerate(LAYERS) for name in names}
    seen, edges = set(), 0
    for path in ROOT.rglob("*.py"):
        here = path.relative_to(ROOT).with_suffix("").parts[0]
        if here in APART or here == "__init__":
            continue
        seen.add(here)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foreseal.payments."):
                there = str(node.module).split(".")[2]
                edges += there != here
                assert there == here or layer[there] < layer[here], f"{here} -> {there}"
    assert seen == set(layer)
    assert edges > 30
