"""Small faults put into claw, one at a time: does a test notice?

    python bench/mutate.py [--number 60] [--seed 1] [--seconds 300]
                           [--only claw/net]

A sample spread over the wings: comparisons turned, numbers moved by one,
`and` for `or`, `not` dropped, None returned, calls and assignments left out.
Each is tried in a copy of the tree, first on the tests of the file's own
folder, then on those of its wing. Prints every fault that lived and exits
1 when there is one. Texts are left alone.
"""

import argparse
import ast
import copy
import difflib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNED = {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE,
          ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
          ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn,
          ast.NotIn: ast.In}
MOVED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv}


def faults(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each node that can be wrong, with what stands there instead."""
    for node in ast.walk(tree):
        new = copy.deepcopy(node)
        match new:
            case ast.Compare(ops=[first]) if type(first) in TURNED:
                new.ops = [TURNED[type(first)]()]
            case ast.BinOp(op=op) if type(op) in MOVED and not any(
                    isinstance(side, ast.Constant | ast.JoinedStr)
                    and not isinstance(getattr(side, "value", ""), int)
                    for side in (new.left, new.right)):
                new.op = MOVED[type(op)]()
            case ast.BoolOp():
                new.op = ast.And() if isinstance(new.op, ast.Or) else ast.Or()
            case ast.UnaryOp(op=ast.Not()):
                new = new.operand
            case ast.Constant(value=bool(value)):
                new.value = not value
            case ast.Constant(value=int(value)):
                new.value = value + 1
            case ast.Return(value=ast.expr()):
                new.value = ast.Constant(None)
            case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
                new = ast.Pass()
            case _:
                continue
        yield node, new


def mutants(path: Path) -> list[tuple[int, str]]:
    """(line, whole text) of the file for every fault, inside functions."""
    text = path.read_text(encoding="utf-8")
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = []
    same = ast.dump(ast.parse(text))
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        for statement in function.body:
            for old, new in faults(statement):
                begin = starts[old.lineno - 1] + old.col_offset
                end = starts[old.end_lineno - 1] + old.end_col_offset
                piece = ast.unparse(new)
                if isinstance(new, ast.expr):
                    piece = f"({piece})"
                raw = text.encode()
                changed = (raw[:begin] + piece.encode() + raw[end:]).decode()
                try:
                    ast.parse(changed)
                except SyntaxError:
                    continue  # inside an f-string
                if ast.dump(ast.parse(changed)) == same:
                    continue
                found.append((old.lineno, changed))
    return found


def sample(number: int, seed: int, only: str) -> list[tuple[Path, str]]:
    """Faults taken in turn from each wing."""
    rng = random.Random(seed)
    wings = defaultdict(list)
    for path in sorted((ROOT / "claw").rglob("*.py")):
        inside = path.relative_to(ROOT)
        if len(inside.parts) > 2 and inside.as_posix().startswith(only):
            wings[inside.parts[1]].append(path)
    chosen = []
    turn = sorted(wings)
    while turn and len(chosen) < number:
        wing = turn.pop(0)
        path = rng.choice(wings[wing])
        if found := mutants(path):
            chosen.append((path, rng.choice(found)[1]))
            turn.append(wing)
        elif len(wings[wing]) > 1:
            wings[wing].remove(path)
            turn.append(wing)
    return chosen


def folders(path: Path) -> list[Path]:
    """Test folders of a module, the nearest first, the wing's last."""
    parts = path.relative_to(ROOT / "claw").with_suffix("").parts
    places = [Path("tests", *parts[:deep])
              for deep in range(len(parts), 0, -1)]
    return [place for place in places if (ROOT / place).is_dir()] \
        or [Path("tests/test_startup.py")]


def is_caught(tree: Path, places: list[Path], seconds: float) -> str:
    """How the tests noticed; empty when they did not."""
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE":
           "1", "CLAW_HOME": str(tree / "no-home")}
    for place in places:
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p",
             "no:cacheprovider", str(place)], cwd=tree, env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            if run.wait(seconds):
                return f"by {place}"
        except subprocess.TimeoutExpired:
            return f"by the time limit in {place}"
        finally:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300,
                        help="limit of one folder's tests")
    parser.add_argument("--only", default="", help="path prefix, claw/net")
    options = parser.parse_args()
    chosen = sample(options.number, options.seed, options.only)
    caught = late = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(
            ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis"))
        for number, (path, changed) in enumerate(chosen, 1):
            inside = path.relative_to(ROOT)
            before = path.read_text(encoding="utf-8")
            (tree / inside).write_text(changed, encoding="utf-8")
            how = is_caught(tree, folders(path), options.seconds)
            (tree / inside).write_text(before, encoding="utf-8")
            caught += bool(how)
            late += "time limit" in how
            difference = "".join(list(difflib.unified_diff(
                before.splitlines(True), changed.splitlines(True),
                str(inside), str(inside), n=0))[2:])
            print(f"{number}/{len(chosen)} {how or 'ALIVE'}: {inside}\n"
                  f"{difference}", flush=True)
    print(f"{caught} of {len(chosen)} caught, {late} by the time limit")
    return caught < len(chosen)


if __name__ == "__main__":
    sys.exit(main())
