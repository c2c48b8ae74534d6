"""What people sent, in <channel>_files, each file as
<channel>_<chat>_<message>_<name>: what may one chat's turn see of it?

Spoken answers (voice_files) and files that are just being saved (with a
dot) are nobody's.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SUFFIX = "_files"


def is_of_another_chat(folder: str, name: str, chat: tuple[str, str]) -> bool:
    """Whether `name` in this folder of the workspace was sent in another
    chat than this one (channel, chat)."""
    if not folder.endswith(_SUFFIX):
        return False
    channel = folder.removesuffix(_SUFFIX)
    sent = name.startswith(".") or (
        name.startswith(channel) and name[len(channel):][:1] in "_-.")
    return sent and not (channel == chat[0]
                         and name.startswith(f"{channel}_{chat[1]}_"))


def list_of_other_chats(workspace: str, chat: tuple[str, str]
                        ) -> Iterator[tuple[str, list[str], list[str]]]:
    """The folders with something of another chat in them, and that of this
    channel, where it may come any moment; the names of what a turn of this
    chat may see there, and may not."""
    for folder in os.listdir(workspace):
        if not folder.endswith(_SUFFIX):
            continue
        path = f"{workspace}/{folder}"
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY
                             | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # a link, no folder, or none of ours
        names = os.listdir(handle)
        os.close(handle)
        foreign = [name for name in names
                   if is_of_another_chat(folder, name, chat)]
        if foreign or folder == f"{chat[0]}{_SUFFIX}":
            yield path, sorted(set(names) - set(foreign)), foreign
