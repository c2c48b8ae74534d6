"""The table of commands. Nothing here is imported until it is called.

A row is: name -> (one-line help, dotted path of a plain function). The line
is the first line of the function's docstring (a test holds them equal); the
rest of the docstring, its options and examples give `--help`, the man page
and the completions.
"""

from collections.abc import Sequence

from claw.cli import failure
from claw.cli.lazy import Root
from claw.core.errors import ExitCode

_AT = "claw.cli.commands."

# name -> (one-line help, an example, ...)
GROUPS: dict[str, tuple[str, ...]] = {
    "memory": ("Store, search and look after memories.",
               'claw memory store colour "Mina likes green"',
               'claw memory recall "which colour?"'),
    "provider": ("See which models are at hand and whether they answer.",
                 "claw provider list", "claw provider test"),
    "model": ("Give models short names.",
              "claw model alias fast llama-3.3-70b-versatile -p groq",
              "claw model alias"),
    "tool": ("The agent's tools from the shell.",
             "claw tool list", """claw tool run shell '{"command": "ls"}'"""),
    "session": ("Look at kept conversations.",
                "claw session list", "claw session show work"),
    "template": ("Look at saved prompts, and write your own.",
                 "claw template list", "claw template edit commit"),
    "log": ("Search and reread what was asked and answered.",
            "claw log list", 'claw log search "rent in Bonn"',
            "claw log show -l"),
    "channel": ("See the chat channels and what is wrong with them.",
                "claw channel list", "claw channel doctor"),
    "queue": ("Look at messages that wait, and at answers not sent.",
              "claw queue list", "claw queue retry"),
    "security": ("See what is defended, and decide on what waits.",
                 "claw security audit", "claw security review"),
    "mcp": ("Use tools of MCP servers, and be one.",
            "claw mcp add time --network -- uvx mcp-server-time",
            "claw mcp accept time"),
    "config": ("Read and change settings.",
               "claw config show", "claw config set memory.backend none"),
}

COMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("Ask one question; piped text is put under it.",
            _AT + "ask.command:ask"),
    "map": ("Ask the same of each line of stdin, or of each file.",
            _AT + "map.command:map_"),
    "agent": ("Talk to the agent, with tools and memory.",
              _AT + "agent:agent"),
    "do": ("Propose one shell command for a task; a key runs it.",
           _AT + "do.command:do"),
    "listen": ("Run the configured channels and answer what comes in.",
               _AT + "listen:listen"),
    "send": ("Send one message through a channel.", _AT + "send:send"),
    "why": ("Tell what happened in a turn of a channel.", _AT + "why:why"),
    "cost": ("Tell what models cost, by day, origin or model.",
             _AT + "cost:cost"),
    "channel list": ("List the channels, those that are set up first, and "
                     "how they are.", _AT + "channel.list:list_"),
    "channel doctor": ("Look at each channel step by step and say what to "
                       "do.", _AT + "channel.doctor:doctor"),
    "queue list": ("List messages that wait for an answer and answers that "
                   "wait to go.", _AT + "queue.list:list_"),
    "queue retry": ("Send again what could not be sent. Exits 1 when "
                    "nothing failed.", _AT + "queue.change:retry"),
    "queue purge": ("Remove finished rows, or those of a channel that is "
                    "gone.",
                    _AT + "queue.change:purge"),
    "memory store": ("Remember a text under a key.",
                     _AT + "memory.store:store"),
    "memory recall": ("Search memory, best match first.",
                      _AT + "memory.recall:recall"),
    "memory get": ("Print one memory.", _AT + "memory.get:get"),
    "memory list": ("List memories, newest change first.",
                    _AT + "memory.get:list_"),
    "memory forget": ("Remove memories by key, sender, or category and age.",
                      _AT + "memory.forget:forget"),
    "memory count": ("Print how many memories there are.",
                     _AT + "memory.get:count"),
    "memory stats": ("Print numbers by category and whether the store is "
                     "well.", _AT + "memory.stats:stats"),
    "memory exam": ("Ask for memories, and print how many are found again.",
                    _AT + "memory.exam:exam"),
    "memory conflicts": ("Show memories that contradict each other; a key "
                         "settles each pair.",
                         _AT + "memory.conflicts:conflicts"),
    "memory snapshot": ("Write the core memories to MEMORY_SNAPSHOT.md.",
                        _AT + "memory.snapshot:snapshot"),
    "memory hydrate": ("Bring memories back from MEMORY_SNAPSHOT.md.",
                       _AT + "memory.snapshot:hydrate"),
    "memory export": ("Print every memory as one JSON object a line, oldest "
                      "first.", _AT + "memory.transfer:export"),
    "memory import": ("Read memories from lines of JSON or another agent; "
                      "all or none.", _AT + "memory.transfer:import_"),
    "memory history": ("Tell what a memory was and when, the latest first.",
                       _AT + "memory.history:history"),
    "memory undo": ("Take back the last change of each key. Exits 1 "
                    "when there is none.",
                    _AT + "memory.history:undo"),
    "memory index": ("Make a folder of documents findable, or bring that "
                     "up to date.", _AT + "memory.index:index"),
    "memory pin": ("Keep memories whatever their age: hygiene never removes "
                   "them.", _AT + "memory.pin:pin"),
    "memory reindex": ("Make the search index and missing vectors anew.",
                       _AT + "memory.maintenance:reindex"),
    "memory check": ("Look for damage in the store, and mend it.",
                     _AT + "memory.maintenance:check"),
    "memory hygiene": ("Archive what is old, remove what was kept long "
                       "enough.",
                       _AT + "memory.hygiene:hygiene"),
    "memory model": ("Install the model that makes vectors without a "
                     "server, or look at it.", _AT + "memory.model:model"),
    "provider list": ("List the providers that are set up, the one in use "
                      "first.", _AT + "provider:list_"),
    "provider test": ("Ask providers for a real answer and say what works.",
                      _AT + "provider:probe"),
    "provider models": ("Print the models that a provider offers, one a "
                        "line.", _AT + "provider:models"),
    "model alias": ("List the short names of models, or set one.",
                    _AT + "model:alias"),
    "tool list": ("List the agent's tools and what they do.",
                  _AT + "tool:list_"),
    "tool run": ("Run one tool under the same policy as the agent's.",
                 _AT + "tool:run"),
    "mcp list": ("List the MCP servers and how their tools stand; none is "
                 "started.", _AT + "mcp.list:list_"),
    "mcp add": ("Add an MCP server to config.toml; nothing is started yet.",
                _AT + "mcp.add:add"),
    "mcp test": ("Connect to an MCP server and list its tools; nothing is "
                 "accepted.", _AT + "mcp.test:probe"),
    "mcp accept": ("Show what is new or changed of a server's tools, and "
                   "accept it.", _AT + "mcp.accept:accept"),
    "mcp serve": ("Serve memory_recall, memory_store and ask over MCP, on "
                  "stdio.", _AT + "mcp.serve:serve"),
    "template list": ("List the templates: claw's own and yours.",
                      _AT + "template.look:list_"),
    "template show": ("Print a template as it stands in its file.",
                      _AT + "template.look:show"),
    "template edit": ("Open a template in an editor and check it before it "
                      "counts.", _AT + "template.edit:edit"),
    "template save": ("Keep a file as a template and print where.",
                      _AT + "template.edit:save"),
    "config show": ("Show every setting that is in force.",
                    _AT + "config.show:show"),
    "config get": ("Print one setting, its default where it is not set.",
                   _AT + "config.show:get"),
    "config set": ("Change one setting in config.toml.",
                   _AT + "config.edit:set_"),
    "config unset": ("Remove a setting or a table from config.toml.",
                     _AT + "config.edit:unset"),
    "config check": ("Read every setting and say what is wrong.",
                     _AT + "config.show:check"),
    "config path": ("Print where the settings and the workspace are.",
                    _AT + "config.show:path"),
    "config edit": ("Open config.toml in an editor and check it before it "
                    "counts.", _AT + "config.edit:edit"),
    "config schema": ("Print a JSON Schema of all settings, for editors.",
                      _AT + "config.show:schema_"),
    "session list": ("List kept conversations, the latest first.",
                     _AT + "session:list_"),
    "session show": ("Show what was said in a conversation.",
                     _AT + "session:show"),
    "session clear": ("Remove conversations. Exits 1 when one is not there.",
                      _AT + "session:clear"),
    "session export": ("Print a conversation as it is kept: one JSON object "
                       "a line.", _AT + "session:export"),
    "log list": ("List questions and turns, the latest first.",
                 _AT + "log.list:list_"),
    "log search": ("Search questions and answers, the latest first.",
                   _AT + "log.search:search"),
    "log show": ("Show one entry: the question, the answer and what it "
                 "took.", _AT + "log.show:show"),
    "log export": ("Print entries whole, as lines of JSON or as Markdown.",
                   _AT + "log.export:export"),
    "log rm": ("Remove entries for good. Exits 1 when there is none.",
               _AT + "log.rm:rm"),
    "security audit": ("Try what defends this machine, and say what does "
                       "not hold.", _AT + "security.audit:audit"),
    "security review": ("Show files of the prompt that a command changed, "
                        "and decide on them.",
                        _AT + "security.review:review"),
    "prove": ("Prove on this machine that no message is lost.",
              _AT + "prove:run"),
    "doctor": ("Look at everything once and say what to do.",
               _AT + "doctor:doctor"),
    "help": ("Print the help page of a command.", _AT + "help:help_"),
    "version": ("Print the version.", _AT + "help:version"),
    "completion": ("Print the completion script of a shell.",
                   _AT + "completion:completion"),
}


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Never raises."""
    root = Root(COMMANDS, GROUPS)
    arguments = [readable(argument) for argument in arguments]
    with failure.catch_everything(arguments) as outcome:
        with root.make_context("claw", list(arguments)) as context:
            root.invoke(context)
        outcome.code = ExitCode.DONE
    return outcome.code


def readable(argument: str) -> str:
    """An argument as text: bytes that are no UTF-8 become U+FFFD."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raw = argument.encode("utf-8", "surrogateescape")
        return raw.decode("utf-8", "replace")
    return argument
