"""One conversation of an editor: its prompts, one at a time.

What it stands on is opened with the first prompt, so that an editor which
only starts claw waits for nothing.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

from claw.agent.rounds.cancel import TurnCancelled, race
from claw.agent.rounds.outcome import RECEIPT, TurnResult
from claw.core.errors import IterationLimitError, UsageError
from claw.gateway.acp import wire
from claw.gateway.acp.blocks import Message, build_message
from claw.gateway.acp.chats import Chat, Chats, Opened
from claw.gateway.acp.peer import Peer
from claw.gateway.acp.permission import EditorApprover
from claw.gateway.acp.updates import Updates
from claw.gateway.acp.wire import Block, RpcError
from claw.security.settings import Level, NarrowerSettings
from claw.security.visible import visible
from claw.text.titles import make_title

OFFLINE = "offline"
_MODELS_SHOWN = 40

# mode -> what it means. They are the levels of [autonomy], from the one that
# is set downwards: an editor takes away and gives nothing.
MODES: dict[Level, tuple[str, str]] = {
    "full": ("Full", "Runs what the settings allow without asking"),
    "supervised": ("Supervised", "Asks before it changes or sends anything"),
    "readonly": ("Read only", "Changes nothing"),
}
# name -> (what it does, a hint for what may stand behind it)
COMMANDS = {
    "new": ("Begin a new conversation here; memories stay", ""),
    "model": ("Show the model, or ask another one from now on", "model"),
    "models": ("List the models on offer", ""),
}


class EditorSession:
    """`name` is the session's id and what it is kept under, `cwd` the
    folder that is open in the editor, `servers` the MCP servers that the
    editor would have started."""

    def __init__(self, name: str, cwd: str, servers: Sequence[str],
                 chats: Chats, peer: Peer, note: Callable[[str], None], *,
                 has_title: bool) -> None:
        self._name = name
        self._cwd = cwd
        self._servers = servers
        self._chats = chats
        self.updates = Updates(self._notify, chats.redactor,
                               str(chats.workspace))
        self._approver = EditorApprover(
            lambda params: peer.ask("session/request_permission",
                                    {"sessionId": name, **params}),
            self.updates, note)
        self._peer = peer
        self._level = chats.read_level()
        self._mode: Level = self._level
        self._stack = AsyncExitStack()
        self._opening: asyncio.Future[Opened] | None = None
        self._chat: Chat | None = None
        self._reads_cwd = True
        self._cancel = asyncio.Event()
        self._turn = asyncio.Lock()
        self._is_greeted = False
        self._has_title = has_title

    def describe_modes(self) -> dict[str, Any]:
        """The levels that may be chosen, and the one that holds."""
        return {"currentModeId": self._mode, "availableModes": [
            {"id": one, "name": MODES[one][0], "description": MODES[one][1]}
            for one in self._list_levels()]}

    def set_mode(self, mode: str) -> None:
        """From the next call of a tool on. Raises UsageError."""
        levels = self._list_levels()
        if mode not in levels:
            raise UsageError(f"no such mode: {visible(mode)[:100]}",
                             hint="there are: " + ", ".join(levels))
        self._mode = levels[levels.index(mode)]
        if self._chat is not None:
            self._chat.narrow(NarrowerSettings(level=self._mode))

    def _list_levels(self) -> list[Level]:
        levels = list(MODES)
        return levels[levels.index(self._level):]

    def announce_commands(self) -> None:
        self.updates.put({
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": name, "description": text,
                 **({"input": {"hint": hint}} if hint else {})}
                for name, (text, hint) in COMMANDS.items()]})

    async def prompt(self, blocks: Sequence[Block]) -> str:
        """One turn; why it ended. Raises RpcError while another runs, and
        ClawError."""
        if self._turn.locked():
            raise RpcError(wire.INVALID_REQUEST,
                           "a prompt of this session is still running: wait "
                           "for it, or cancel it")
        async with self._turn:
            self._cancel = asyncio.Event()
            try:
                return await self._answer(blocks, self._cancel)
            except TurnCancelled:
                return "cancelled"
            except IterationLimitError as error:
                self.updates.remark(f"{error.message}: {error.hint}")
                return "max_turn_requests"
            finally:
                self.updates.end_turn()

    def cancel(self) -> None:
        """End the running turn, if there is one."""
        self._cancel.set()

    async def close(self) -> None:
        """End the turn and give up what is open."""
        self.cancel()
        async with self._turn:
            if self._opening is not None:
                self._opening.cancel()
                await asyncio.wait([self._opening])
            await self._stack.aclose()

    async def _answer(self, blocks: Sequence[Block], cancel: asyncio.Event
                      ) -> str:
        opened = await race(self._open(), cancel)
        chat = self._chat = opened.chat
        chat.narrow(NarrowerSettings(level=self._mode))
        self._greet(chat)
        message = await race(asyncio.to_thread(
            build_message, blocks, opened.policy.read_beneath,
            needs_sandbox=opened.needs_sandbox), cancel)
        name, _, rest = message.text.partition(" ")
        if name.startswith("/") and name[1:] in COMMANDS:
            self.updates.say(await race(
                self._run_command(chat, name[1:], rest.strip()), cancel))
            return "end_turn"
        for remark in message.remarks:
            self.updates.remark(remark)
        result = await self._say(chat, message, cancel)
        self._announce_title(message.question)
        return self._end(result)

    async def _say(self, chat: Chat, message: Message, cancel: asyncio.Event
                   ) -> TurnResult:
        # the offline provider reads the passages as they are
        text = message.question if _is_offline(chat) else message.text
        return await chat.say(
            text, self.updates.take, passages=message.passages,
            question=message.question, live_text=True, cancel=cancel)

    def _end(self, result: TurnResult) -> str:
        if result.unsupported:
            self.updates.remark(RECEIPT)
        return "max_tokens" if result.finish_reason == "length" \
            else "end_turn"

    def _announce_title(self, question: str) -> None:
        """A conversation is called after its first question."""
        if not self._has_title and (title := make_title(question)):
            self._has_title = True
            self.updates.put({"sessionUpdate": "session_info_update",
                              "title": title})

    async def _open(self) -> Opened:
        """The conversation, opened once; a prompt that is cancelled
        meanwhile leaves it to the next one."""
        if self._opening is None:
            self._opening = asyncio.ensure_future(
                self._stack.enter_async_context(self._chats.open(
                    self._name, self._cwd, self._describe_folder,
                    self._approver)))
            self._opening.add_done_callback(_look_at)
        try:
            return await asyncio.shield(self._opening)
        except Exception:
            self._opening = None
            raise

    def _greet(self, chat: Chat) -> None:
        """Say once what the editor has asked for and does not get."""
        if self._is_greeted:
            return
        self._is_greeted = True
        said = []
        if _is_offline(chat):
            said.append("no model is configured: answers come from your text "
                        "and memory alone (claw onboard)")
        if not self._reads_cwd:
            said.append(
                f"{visible(self._cwd)} is out of the agent's reach; to let "
                "it work there, add the folder to autonomy.allowed_roots "
                "(claw config edit)")
        if self._servers:
            names = ", ".join(visible(one) for one in self._servers)
            said.append(f"MCP servers of the editor are not started: {names} "
                        "(claw mcp add makes them claw's)")
        if said:
            self.updates.remark("\n".join(said))

    def _describe_folder(self, is_reached: bool) -> str:
        """What the model is told of the editor."""
        self._reads_cwd = is_reached
        folder = visible(self._cwd)
        return (f"You talk with the owner in a code editor. The folder that "
                f"is open there is {folder}. " + (
                    "Name files in it by absolute paths: relative ones are "
                    "of your workspace." if is_reached else
                    "You can not reach it; you see of it what is attached "
                    "to messages."))

    async def _run_command(self, chat: Chat, name: str, rest: str) -> str:
        """What a command answers."""
        if name == "new":
            chat.new()
            return "A new conversation."
        if name == "models":
            names = await chat.models()
            more = len(names) - _MODELS_SHOWN
            return "\n".join(
                [f"- {one}" for one in names[:_MODELS_SHOWN]]
                + ([f"- and {more} more"] if more > 0 else [])
            ) or "The provider does not say."
        if rest:
            chat.use_model(rest)
        return f"The model is {chat.model}."

    def _notify(self, update: dict[str, Any]) -> None:
        self._peer.notify("session/update", {"sessionId": self._name,
                                             "update": update})


def _look_at(opening: asyncio.Future[Opened]) -> None:
    """A failure is told with the next prompt, where this one was
    cancelled."""
    if not opening.cancelled():
        opening.exception()


def _is_offline(chat: Chat) -> bool:
    return chat.choice.provider_name == OFFLINE
