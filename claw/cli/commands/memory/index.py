"""claw memory index: folders of documents."""

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from claw.cli.commands.memory.common import Progress, to_one_line
from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.core.errors import ClawError, NotFoundError, UsageError
from claw.memory.documents.names import clean_name, list_names
from claw.memory.documents.refresh import TEXT, Report, refresh
from claw.memory.documents.store import DocumentStore, remove_store
from claw.text.plural import plural
from claw.wiring.memory.documents import open_documents, open_folder
from claw.wiring.workspace.secrets import build_redactor

_ADDRESS = re.compile(r"\b(https?|ftp):/{1,2}(.+)")
_WORDS = {"binary": "binary", "ignored": "ignored", "large": "over 8 MiB",
          "link": "links", "special": "no files", "unreadable": "unreadable"}


@examples("claw memory index ~/notes",
          "claw memory index ~/work/handbook --name handbook",
          "claw memory index",
          "claw memory index --list",
          'claw ask --docs notes "when is the rent due?"')
def index(context: typer.Context,
          folder: Annotated[str | None, typer.Argument(
              metavar="[DIR]", help="Folder of text files; without one "
                                    "every index is updated.")] = None,
          name: Annotated[str | None, typer.Option(
              "--name", metavar="NAME",
              help="Name of the index (default the folder's own "
                   "name).")] = None,
          lists: Annotated[bool, typer.Option(
              "--list", help="List the indexed folders.")] = False,
          remove: Annotated[str | None, typer.Option(
              "--remove", metavar="NAME",
              help="Remove an index; the folder itself stays as "
                   "it is.")] = None,
          ) -> None:
    """Index a folder of documents, or update its index.

    Text files are kept in chunks of 100 to 200 words with their lines,
    apart from the memories: claw ask --docs NAME and claw memory recall
    --docs NAME find them. Only changed files are read again, and deleted
    ones are dropped. Hidden files, files that .gitignore names, links,
    binary files and files over 8 MiB are left out.
    """
    run = Invocation.of(context)
    if sum((folder is not None or name is not None, lists,
            remove is not None)) > 1:
        raise UsageError("a folder, --list and --remove exclude each other")
    if folder is not None and not folder.strip():
        raise UsageError("the folder is empty text",
                         hint="name one, or leave it out to bring every "
                              "index up to date")
    if lists:
        _list(run)
    elif remove is not None:
        _remove(run, remove)
    else:
        _index(run, folder, name)


def _index(run: Invocation, folder: str | None, name: str | None) -> None:
    workspace = run.places.workspace
    if folder is not None:
        root = _resolve(folder, workspace)
        document, failure = _refresh(run, _choose_name(root, name), root)
    elif name is not None:
        document, failure = _refresh(run, name, None)
    else:
        failure = _refresh_all(run, list_names(workspace))
        document = None
    if document is not None and run.as_json:
        run.out.document(document)
    elif document is not None:
        run.out.result(_format(document))
    if failure is not None:
        raise typer.Exit(failure.exit_code)


def _resolve(folder: str, workspace: Path) -> Path:
    """The folder without links. Raises UsageError for one in the workspace
    that leads out of it: a command may have put the link there."""
    named = Path(os.path.abspath(os.path.expanduser(folder)))
    root = Path(os.path.realpath(named))
    if named.is_relative_to(workspace) \
            and not root.is_relative_to(os.path.realpath(workspace)):
        raise UsageError(
            f"{named} leads out of the workspace through a link",
            hint=f"if you mean it, name the folder itself: {root}")
    return root


def _refresh_all(run: Invocation, names: list[str]) -> ClawError | None:
    """Bring every index up to date; what went wrong first. One folder that
    is not there keeps nobody from the others."""
    if not names:
        raise UsageError("no folder is indexed yet",
                         hint="name one: claw memory index DIR")
    done, failures = [], []
    for name in names:
        try:
            document, failure = _refresh(run, name, None)
            done.append(document)
        except ClawError as error:
            failure = error
            run.out.warn(f"{name}: {_describe(error)}")
        failures += [failure] if failure else []
    if not run.print_json_rows("indexes", done) and done:
        run.out.result("\n".join(map(_format, done)))
    return next(iter(failures), None)


def _describe(error: ClawError) -> str:
    return error.message + (f" ({error.hint})" if error.hint else "")


def _choose_name(root: Path, name: str | None) -> str:
    """The name of an index. Raises UsageError for a folder that gives
    none."""
    if name is not None:
        return name
    found = clean_name(root.name)
    if not found:
        raise UsageError(f"{root} gives no name",
                         hint="name the index with --name NAME")
    return found


def _refresh(run: Invocation, name: str, root: Path | None
             ) -> tuple[dict[str, Any], ClawError | None]:
    """Bring one index up to date: what was done, and what kept vectors
    from being made."""
    if root is not None:
        _check_folder(root, name, "claw memory index --list shows what is "
                      "indexed")
    if root is not None or name in list_names(run.places.workspace):
        run.use_workspace()
    with open_documents(run.settings, name, readonly=False,
                        make=root is not None, notify=run.out.note) as store:
        root = _check_folder(
            root or store.root, name, f"where it has moved: claw memory "
            f"index DIR --name {store.title}")
        _adopt(run, store, root)
        with run.out.waiting(f"looking through {root}"):
            report = refresh(
                store, open_folder(run.settings, root),
                clean=build_redactor(run.settings), over=_show(run))
        vectors, failure = _embed(run, store)
    _say(run, name, report)
    return {"name": name, "folder": str(root), **report.to_json(),
            "vectors": vectors}, failure


def _check_folder(root: Path | None, name: str, hint: str) -> Path:
    """The folder. Raises UsageError where there is none."""
    if root is not None and root.is_dir():
        return root
    if root is not None and (address := _ADDRESS.search(str(root))):
        raise UsageError(
            f"{address[1]}://{address[2]} is an address; folders of this "
            "machine are indexed", hint="save its pages to a folder first, "
            "or put one under a question: curl -s ADDRESS | claw ask ...")
    if root is not None and root.is_file():
        raise UsageError(f"{root} is a file, no folder",
                         hint="index the folder that holds it, or: claw ask "
                              "-f FILE")
    raise UsageError(f"{root or name}: no such folder", hint=hint)


def _adopt(run: Invocation, store: DocumentStore, root: Path) -> None:
    """Let it be the index of this folder. Raises UsageError where it is
    another's."""
    held = store.root
    if held == root:
        return
    if held is not None and held.is_dir():
        raise UsageError(
            f"{store.title!r} is the index of {held}",
            hint="choose another one with --name, or drop it: claw memory "
                 f"index --remove {store.title}")
    if held is not None:
        run.out.note(f"{store.title}: {held} is gone; from now on it is the "
                     f"index of {root}")
    store.adopt(root)


def _show(run: Invocation) -> Callable[[list[str]], Iterable[str]]:
    def over(paths: list[str]) -> Iterable[str]:
        run.out.interrupt_waiting()
        with Progress("files", len(paths), quiet=run.out.quiet) as progress:
            yield from progress.over(paths)
    return over


def _embed(run: Invocation, store: DocumentStore
           ) -> tuple[dict[str, int] | None, ClawError | None]:
    """Make missing vectors, where they are wanted; the words are kept
    whatever happens."""
    if store.embedder is None:
        return None, None
    failure, total = None, store.unembedded()
    with Progress("vectors", total, quiet=run.out.quiet) as progress:
        try:
            store.embed_missing(progress.update)
        except ClawError as error:
            progress.clear()
            failure = error
    missing = store.unembedded()
    if failure is not None:
        run.out.warn(
            f"{missing:,} chunks have no vector and are found by their words "
            f"alone: {_describe(failure)}")
    return {"made": total - missing, "missing": missing}, failure


def _say(run: Invocation, name: str, report: Report) -> None:
    done = [f"{number:,} {word}" for word, number in (
        ("added", report.added), ("changed", report.changed),
        ("removed", report.removed)) if number] or [
            "nothing changed" if report.files else "nothing to read"]
    left_out = [f"{number:,} {_WORDS[why]}"
                for why, number in report.skipped.items()]
    run.out.note(f"{name}: {', '.join(done)}" + (
        f"; left out: {', '.join(left_out)}" if left_out else ""))
    if report.unread:
        run.out.warn("could not be read: " + ", ".join(report.unread)
                     + (" ..." if report.skipped["unreadable"]
                        > len(report.unread) else ""))


def _format(found: dict[str, Any]) -> str:
    return (f"{found['name']}: {plural(found['files'], 'file')}, "
            f"{plural(found['chunks'], 'chunk')}")


def _list(run: Invocation) -> None:
    found: list[dict[str, Any]] = []
    for name in list_names(run.places.workspace):
        try:
            found.append(_look_at(run, name))
        except ClawError as error:
            run.out.warn(f"{name}: {_describe(error)}")
    printed = run.print_json_rows("indexes", found)
    if found and not printed:
        lines = [(one["name"], to_one_line(str(one["folder"] or "-")),
                  plural(one["files"], "file"),
                  _second(one["indexed_at"]) if one["indexed_at"] else "-")
                 for one in found]
        run.out.table(lines)
    if not found and not run.json:
        run.out.note("no folder is indexed (claw memory index DIR)")


def _second(time: str) -> str:
    return time.partition(".")[0].removesuffix("Z") + "Z"


def _look_at(run: Invocation, name: str) -> dict[str, Any]:
    with open_documents(run.settings, name, notify=run.out.note) as store:
        known = store.documents().values()
        return {"name": name,
                "folder": None if store.root is None else str(store.root),
                "files": sum(one.kind == TEXT for one in known),
                "chunks": sum(one.chunks for one in known),
                "indexed_at": store.indexed_at}


def _remove(run: Invocation, name: str) -> None:
    there = False
    with suppress(FileNotFoundError):
        there = remove_store(run.places.workspace, name)
    if not there:
        raise NotFoundError(
            f"no documents are indexed as {name!r}",
            hint="claw memory index --list shows what there is")
    run.print_result({"removed": name}, name)
