"""What every wing's tests share: how many workers a run gets, and the
`claw` command, run inside the test's own process or in a real one.

In the test's process a command costs a twentieth of what a new one does.
What it could leave behind is put back after it: environment, folder, umask,
streams 0 to 2, signal handlers, warning filters, locale, context variables.
A test of what only the operating system sees (signals, closed
streams, the locale, which modules are loaded) takes `claw_process`.
"""

import asyncio
import contextvars
import gc
import inspect
import itertools
import json
import locale
import os
import reprlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from claw.__main__ import main

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a run in the background; what it starts would take no Ctrl-C either
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Only a new interpreter reads these.
_OF_AN_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers of `-n auto`: one more than cores, since a third of the time
    is waiting; none where starting them would cost more than they save or
    where a person watches."""
    single = all("::" in str(name) or os.path.isfile(str(name))
                 for name in config.args)
    watched = (config.option.collectonly or config.option.usepdb
               or config.option.capture == "no")
    return 0 if single or watched else len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without Python's collector: the million objects of all tests
    stay, and to look through them again and again took a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`pytest.mark.each(names, rows)` reads as parametrize does, but all
    rows are one test: collecting thousands costs more than running them."""
    for mark in metafunc.definition.iter_markers("each"):
        names = _names(mark)
        metafunc.parametrize(names, [(None,) * len(names)],
                             ids=[f"{len(list(mark.args[1]))} cases"])


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of `each` for every row; its failures name their rows."""
    marks = list(pyfuncitem.iter_markers("each"))
    if not marks:
        return None
    names = [name for mark in marks for name in _names(mark)]
    wanted = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in wanted
             if name not in names}
    failed: list[Exception] = []
    skipped: list[BaseException] = []
    rows = list(itertools.product(*(_rows(mark) for mark in marks)))
    assert rows, "no rows"
    for row in rows:
        values = dict(zip(names, itertools.chain(*row), strict=True))
        try:
            pyfuncitem.obj(**given, **values)
        except pytest.skip.Exception as reason:
            skipped.append(reason)
        except (Exception, pytest.fail.Exception) as error:
            case = ", ".join(f"{name}={reprlib.repr(value)}"
                             for name, value in values.items())
            failed.append(AssertionError(case))
            failed[-1].__cause__ = error
    if failed:
        rest = "".join(f"\n  and {error}" for error in failed[5:])
        raise ExceptionGroup(
            f"{len(failed)} of {len(rows)} cases{rest}", failed[:5])
    if len(skipped) == len(rows):
        raise skipped[0]
    return True


def _names(mark: pytest.Mark) -> list[str]:
    names = mark.args[0]
    return ([name.strip() for name in names.split(",")]
            if isinstance(names, str) else list(names))


def _rows(mark: pytest.Mark) -> list[tuple[Any, ...]]:
    single = len(_names(mark)) == 1
    return [tuple(row.values) if hasattr(row, "values")
            and hasattr(row, "marks") else (row,) if single else tuple(row)
            for row in mark.args[1]]


class Ended:
    """How one command ended."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        return f"<exit {self.code} out={self.out!r} err={self.err!r}>"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """CLAW_HOME of the commands of this test; does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path, tmp_path: Path) -> dict[str, str]:
    """What the commands see: as little as cron gives, and their places."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"),
            "CLAW_HOME": str(home), "CLAW_NO_PROBE": "1",
            "PYTHONWARNINGS": "error"}


@pytest.fixture
def settle() -> Callable[[int], None]:
    """settle(pid): wait until a process waits. Python sees a signal that
    comes between its last look for one and its read at the read's end."""

    def wait(pid: int) -> None:
        seen: list[list[str]] = []
        until = time.monotonic() + 60
        while len(seen) < 8 or seen[-8:] != 8 * [["S", *seen[-1][1:]]]:
            assert time.monotonic() < until, seen[-8:]
            time.sleep(0.05)
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
            fields = stat.split()
            seen.append([fields[0], *fields[11:13]])  # state, CPU
    return wait


@pytest.fixture
def claw(environment: dict[str, str],
         tmp_path: Path) -> Callable[..., Ended]:
    """claw("memory", "recall", "tea", stdin="...", env={...}): one command
    in the process of the test."""

    def call(*arguments: str | bytes, stdin: str | bytes | None = None,
             env: dict[str, str] | None = None, timeout: float = 60,
             cwd: Path | None = None) -> Ended:
        foreign = [name for name in env or {}
                   if name.startswith(_OF_AN_INTERPRETER)]
        if foreign:
            raise ValueError(f"{foreign} need claw_process")
        data = stdin.encode() if isinstance(stdin, str) else stdin
        return Ended(run_here(
            [os.fsdecode(argument) for argument in arguments], data,
            {**environment, **(env or {})}, cwd or tmp_path, timeout))

    return call


@pytest.fixture
def claw_process(environment: dict[str, str],
                 tmp_path: Path) -> Callable[..., Ended]:
    """The same as `claw`, in a process of its own."""

    def call(*arguments: str | bytes, stdin: str | bytes | None = None,
             env: dict[str, str] | None = None, timeout: float = 60,
             cwd: Path | None = None) -> Ended:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        return Ended(subprocess.run(
            [sys.executable, "-m", "claw", *arguments], input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True, env={**environment, **(env or {})},
            timeout=timeout, cwd=cwd or tmp_path, check=False))

    return call


def run_here(arguments: list[str], stdin: bytes | None,
             env: dict[str, str], cwd: Path,
             timeout: float) -> subprocess.CompletedProcess[bytes]:
    """One command in this process; nothing of it is left afterwards."""
    if threading.current_thread() is not threading.main_thread() \
            or asyncio._get_running_loop() is not None:
        raise RuntimeError("beside other work: use claw_process")
    with ExitStack() as stack:
        for change in (_environment(env), _folder(cwd), _signals(timeout),
                       _settings()):
            stack.enter_context(change)
        out, err = stack.enter_context(_streams(stdin))
        stack.enter_context(_arguments(arguments))
        code = contextvars.copy_context().run(main)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(
            arguments, code, out.read(), err.read())


@contextmanager
def _environment(env: dict[str, str]) -> Iterator[None]:
    before, temporary = dict(os.environ), tempfile.tempdir
    try:
        _replace_environment(env)
        tempfile.tempdir = None
        yield
    finally:
        _replace_environment(before)
        tempfile.tempdir = temporary


def _replace_environment(env: dict[str, str]) -> None:
    zone = os.environ.get("TZ")
    os.environ.clear()
    os.environ.update(env)
    if env.get("TZ") != zone:
        time.tzset()


@contextmanager
def _folder(cwd: Path) -> Iterator[None]:
    before = os.open(".", os.O_RDONLY)
    mask = os.umask(0)
    os.umask(mask)
    try:
        os.chdir(cwd)
        yield
    finally:
        os.fchdir(before)
        os.close(before)
        os.umask(mask)


@contextmanager
def _signals(timeout: float) -> Iterator[None]:
    """Handlers are put back; a command that takes too long is broken off
    where it stands."""
    before = {number: signal.getsignal(number)
              for number in signal.valid_signals()}

    def break_off(number: int, frame: object) -> None:
        raise TimeoutError(f"the command took more than {timeout} s")

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGALRM, break_off)
        signal.setitimer(signal.ITIMER_REAL, timeout)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)


@contextmanager
def _settings() -> Iterator[None]:
    """What the interpreter keeps: warnings are errors, the collector runs,
    the locale is that of the run."""
    freeze, language = gc.freeze, locale.setlocale(locale.LC_ALL)
    try:
        # or what the tests leave would never be looked through
        gc.freeze = lambda: None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        gc.freeze = freeze
        gc.enable()
        locale.setlocale(locale.LC_ALL, language)


@contextmanager
def _streams(stdin: bytes | None) -> Iterator[tuple[Any, Any]]:
    """Streams 0 to 2 are files for what is read and written, for the
    command and for the programs it starts."""
    named = (sys.stdin, sys.stdout, sys.stderr)
    kept = [os.dup(number) for number in range(3)]
    with (open(os.devnull, "rb") if stdin is None
          else tempfile.TemporaryFile() as text,
          tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err):
        if stdin is not None:
            text.write(stdin)
            text.flush()
            text.seek(0)
        try:
            for number, file in enumerate((text, out, err)):
                os.dup2(file.fileno(), number)
            sys.stdin = os.fdopen(0, closefd=False, encoding="utf-8",
                                  errors="surrogateescape")
            sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
            sys.stderr = os.fdopen(2, "w", closefd=False, encoding="utf-8",
                                   errors="backslashreplace", buffering=1)
            yield out, err
        finally:
            for stream in (sys.stdin, sys.stdout, sys.stderr):
                stream.close()
            sys.stdin, sys.stdout, sys.stderr = named
            for number, copy in enumerate(kept):
                os.dup2(copy, number)
                os.close(copy)


@contextmanager
def _arguments(arguments: list[str]) -> Iterator[None]:
    before = sys.argv
    try:
        sys.argv = ["claw", *arguments]
        yield
    finally:
        sys.argv = before
