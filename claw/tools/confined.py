"""A program in the sandbox, as tools run one."""

import os
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from claw.core.errors import DeniedError, UnavailableError, UsageError
from claw.core.threads import make_on_thread
from claw.core.turn import current_turn
from claw.security.confine.attachments import is_of_another_chat
from claw.security.policy import SecurityPolicy
from claw.security.sandbox import children
from claw.security.sandbox.sandbox import Launch

_LOOK_S = 20.0
# Whose objects a repository has, and what of the workspace's folders of
# attachments stands in its index, or ever stood in one of its commits.
_LIST_SENT = """
for folder in "$1" .; do
  (cd "$folder" && common=$(git rev-parse --git-common-dir) &&
   cd "$common" && pwd -P) || exit 0
done
git ls-files -z -- "$2" && git -c log.showRoot=true log --all --reflog -z \
  --full-history -m --relative --no-renames --format= --name-only -- "$2"
"""


async def find_git_of_others(policy: SecurityPolicy, folder: str = "."
                             ) -> Path | None:
    """Where a repository keeps its objects, if there is among them what
    was sent in another chat than the turn's: the sandbox hides the files,
    but git would bring them back."""
    turn = current_turn.get()
    if turn is None or not turn.chat or not _may_be_in_one(policy.workspace):
        return None
    done = await run_confined(
        policy, ["sh", "-c", _LIST_SENT, "sh", folder, ":(glob)*_files/**"],
        _LOOK_S, policy.paths.roots)
    own, _, rest = os.fsdecode(done.stdout).partition("\n")
    objects, _, listed = rest.partition("\n")
    if not objects or own != objects:
        return None
    names = (name.strip("\n").split("/") for name in listed.split("\0"))
    # What can't be read to its end may hold anything.
    foreign = done.code != 0 or done.stdout_cut or any(
        is_of_another_chat(name[0], name[1], turn.chat)
        for name in names if len(name) > 1)
    return Path(objects) if foreign else None


def _may_be_in_one(workspace: Path) -> bool:
    return any(os.path.lexists(place / name) for name in (".git", "HEAD")
               for place in (workspace, *workspace.parents))


def refuse_git_of_others() -> DeniedError:
    """The error for a look at, or a change to, what such a one brings."""
    return DeniedError(
        "this repository holds files that were sent in other chats, which "
        "git would show here",
        hint="git_operations has status, diff, log, add and commit without "
             "them; the rest is the owner's at the terminal")


async def run_confined(policy: SecurityPolicy, command: Sequence[str],
                       timeout_s: float, read_only: Sequence[Path] = (),
                       hidden: Sequence[Path] = ()) -> children.Finished:
    """Run it in the workspace; `read_only` are paths that it may not
    write, `hidden` those that it may not see. What was sent in another chat
    than the turn's is out of its reach. Raises DeniedError, UsageError
    where it can't be started, UnavailableError where the sandbox could not
    be set up."""
    sandbox, turn = policy.sandbox, current_turn.get()
    if sandbox is None:
        raise DeniedError("no sandbox is set up, so no command runs")
    # On a thread: the first call looks for what the kernel offers.
    launch = await make_on_thread(
        partial(sandbox.prepare, command, chat=turn.chat if turn else None,
                read_only=read_only, hidden=hidden), _remove)
    try:
        done = await children.run(launch, timeout_s)
    except (OSError, ValueError) as error:
        raise UsageError(f"the command can't be started: {error}") from error
    if done.failure:
        raise UnavailableError(f"the command was not run: {done.failure}")
    return done


def _remove(launch: Launch) -> None:
    shutil.rmtree(launch.scratch, ignore_errors=True)
