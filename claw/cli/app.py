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
    "memory": ("Store, search and maintain memories.",
               'claw memory store colour "Mina likes green"',
               'claw memory recall "which colour?"'),
    "provider": ("List providers and their models, and test them.",
                 "claw provider list", "claw provider test"),
    "model": ("List models with their prices, and give them short names.",
              "claw model list --all | grep claude",
              "claw model alias fast llama-3.3-70b-versatile -p groq"),
    "tool": ("List and run the agent's tools.",
             "claw tool list", """claw tool run shell '{"command": "ls"}'"""),
    "session": ("List, show and remove conversations.",
                "claw session list", "claw session show work"),
    "template": ("Show saved prompts and write your own.",
                 "claw template list", "claw template edit commit"),
    "log": ("Search and reread what was asked and answered.",
            "claw log list", 'claw log search "rent in Bonn"',
            "claw log show -l"),
    "channel": ("Set up the chat channels and diagnose them.",
                "claw channel setup", "claw channel doctor"),
    "queue": ("Inspect waiting messages and unsent answers.",
              "claw queue list", "claw queue retry"),
    "cron": ("Schedule prompts and commands, and see what came of them.",
             'claw cron add "0 9 * * MON-FRI" --tz local --prompt "What is '
             'due today?"', "claw cron list", "claw cron runs"),
    "permission": ("Allow calls for a while, and take that back.",
                   'claw permission allow shell "git push origin main"',
                   "claw permission show"),
    "hook": ("List the hooks and try them.",
             "claw hook list", "claw hook test before_tool_call"),
    "security": ("Audit the defences and review held changes.",
                 "claw security audit", "claw security review"),
    "mcp": ("Use tools of MCP servers, and be one.",
            "claw mcp add time --network -- uvx mcp-server-time",
            "claw mcp accept time"),
    "skill": ("Install skills, look at them and accept them.",
              "claw skill install ./pdf-forms",
              "claw skill accept pdf-forms"),
    "gateway": ("Serve HTTP for other programs, and say who may call.",
                "claw gateway", "claw gateway token add laptop"),
    "service": ("Keep claw listen running.",
                "claw service install", "claw service status"),
    "backup": ("Copy everything that claw keeps into one file, and back.",
               "claw backup create", "claw backup verify FILE"),
    "config": ("Read and change settings.",
               "claw config show", "claw config set memory.backend none"),
}

# The command that a group is without one.
DEFAULTS = {"gateway": "serve"}

COMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("Ask one question; piped text is put under it.",
            _AT + "ask.command:ask"),
    "map": ("Ask the same of each line of stdin, or of each file.",
            _AT + "map.command:map_"),
    "agent": ("Talk to the agent, with tools and memory.",
              _AT + "agent:agent"),
    "acp": ("Serve the agent to an editor over ACP, on stdio.",
            _AT + "acp:acp"),
    "do": ("Propose one shell command for a task; a key runs it.",
           _AT + "do.command:do"),
    "listen": ("Run the configured channels and answer what comes in.",
               _AT + "listen:listen"),
    "send": ("Send one message through a channel.", _AT + "send:send"),
    "tap": ("Hand what comes in on a channel to a program, in place of the "
            "agent.", _AT + "tap:tap"),
    "status": ("Show how claw is: channels, queue, memory, spending, last "
               "errors.", _AT + "status:status"),
    "why": ("Show what happened in a turn of a channel.", _AT + "why:why"),
    "cost": ("Show what models cost, by day, origin or model.",
             _AT + "cost:cost"),
    "channel list": ("List the channels and their state, those set up first.",
                     _AT + "channel.list:list_"),
    "channel doctor": ("Check each channel step by step and say what to fix.",
                       _AT + "channel.doctor:doctor"),
    "channel setup": ("Show how a channel is set up: what to make, which "
                      "keys to set.", _AT + "channel.setup:setup"),
    "queue list": ("List messages waiting for an answer and answers waiting "
                   "to be sent.", _AT + "queue.list:list_"),
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
    "memory stats": ("Show counts by category and the state of the store.",
                     _AT + "memory.stats:stats"),
    "memory exam": ("Measure how many memories are found again.",
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
    "memory history": ("Show the earlier states of a memory, latest first.",
                       _AT + "memory.history:history"),
    "memory undo": ("Take back the last change of each key. Exits 1 "
                    "when there is none.",
                    _AT + "memory.history:undo"),
    "memory index": ("Index a folder of documents, or update its index.",
                     _AT + "memory.index:index"),
    "memory pin": ("Pin memories, so that hygiene never removes them.",
                   _AT + "memory.pin:pin"),
    "memory reindex": ("Rebuild the search index and missing vectors.",
                       _AT + "memory.maintenance:reindex"),
    "memory check": ("Check the store for damage, and repair it.",
                     _AT + "memory.maintenance:check"),
    "memory hygiene": ("Archive old memories and remove expired ones.",
                       _AT + "memory.hygiene:hygiene"),
    "memory model": ("Install the local embedding model, or show it.",
                     _AT + "memory.model:model"),
    "provider list": ("List the providers that are set up, the one in use "
                      "first.", _AT + "provider:list_"),
    "provider test": ("Ask providers for a real answer and say what works.",
                      _AT + "provider:probe"),
    "provider models": ("Print the models that a provider offers, one a "
                        "line.", _AT + "provider:models"),
    "model list": ("List the models of the providers that are set up, with "
                   "prices.", _AT + "model.list:list_"),
    "model alias": ("List the short names of models, or set one.",
                    _AT + "model.alias:alias"),
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
    "skill list": ("List the skills and how they stand; only accepted ones "
                   "are used.", _AT + "skill.list:list_"),
    "skill show": ("Print what a skill says, its files, and what its scripts "
                   "may reach.", _AT + "skill.show:show"),
    "skill install": ("Copy a skill into claw's folder and scan it; it is "
                      "not used yet.", _AT + "skill.install:install"),
    "skill audit": ("Scan skills for what is hidden or dangerous. Exits 1 "
                    "for a finding.", _AT + "skill.show:audit"),
    "skill test": ("Run a skill's scripts dry, and show what they want to "
                   "reach.", _AT + "skill.test:probe"),
    "skill accept": ("Show a skill whole, and let it be used as it is now.",
                     _AT + "skill.accept:accept"),
    "skill remove": ("Take back the yes to a skill, and remove it where "
                     "claw installed it.", _AT + "skill.accept:remove"),
    "template list": ("List the templates: claw's own and yours.",
                      _AT + "template.look:list_"),
    "template show": ("Print a template as it stands in its file.",
                      _AT + "template.look:show"),
    "template edit": ("Open a template in an editor and check it before it "
                      "counts.", _AT + "template.edit:edit"),
    "template rm": ("Remove templates of yours. Exits 1 when one is not "
                    "there.", _AT + "template.rm:rm"),
    "template save": ("Save a file as a template and print its path.",
                      _AT + "template.edit:save"),
    "service install": ("Have claw listen started at login, and again after "
                        "a failure.", _AT + "service.install:install"),
    "service uninstall": ("Stop the service and remove its file.",
                          _AT + "service.install:uninstall"),
    "service start": ("Start the service now.",
                      _AT + "service.control:start"),
    "service stop": ("Stop the service; running answers may finish.",
                     _AT + "service.control:stop"),
    "service status": ("Show what the service manager says.",
                       _AT + "service.control:status"),
    "service logs": ("Print the service's log.",
                     _AT + "service.control:logs"),
    "backup create": ("Copy settings, keys and the workspace into one file.",
                      _AT + "backup.create:create"),
    "backup verify": ("Read all of a backup and compare it with what it "
                      "says of itself.", _AT + "backup.verify:verify"),
    "backup restore": ("Put a backup in the place of settings and workspace.",
                       _AT + "backup.restore:restore"),
    "cron list": ("List the scheduled jobs, in the order they were made.",
                  _AT + "cron.look:list_"),
    "cron add": ("Schedule a prompt for the agent, or a shell command.",
                 _AT + "cron.add:add"),
    "cron show": ("Show all of one job, and forecast what a month of it will "
                  "cost.", _AT + "cron.show:show"),
    "cron update": ("Change a job; what is not named stays.",
                    _AT + "cron.add:update"),
    "cron remove": ("Remove jobs and what is kept of their runs.",
                    _AT + "cron.change:remove"),
    "cron pause": ("Keep jobs from running until they are resumed.",
                   _AT + "cron.change:pause"),
    "cron resume": ("Let jobs run again, from their next time on.",
                    _AT + "cron.change:resume"),
    "cron next": ("Print the next times of all jobs, of one, or of an "
                  "expression.", _AT + "cron.look:next_"),
    "cron run": ("Run a job at once, here, and print what came of it.",
                 _AT + "cron.run:run"),
    "cron runs": ("List the runs of a job or of all: status, time, cost, "
                  "what they said.", _AT + "cron.look:runs"),
    "migrate": ("Bring settings, memories, skills and jobs of another agent "
                "to claw.", _AT + "migrate.command:migrate"),
    "gateway serve": ("Serve HTTP for other programs, without the "
                      "channels.", _AT + "gateway.serve:serve"),
    "gateway token": ("Make keys of the gateway, list them, change them, "
                      "take them back.", _AT + "gateway.token:token"),
    "gateway pair": ("Print a code for which one device gets a key.",
                     _AT + "gateway.token:pair"),
    "gateway link": ("Print a link that signs one browser in to the page.",
                     _AT + "gateway.link:link"),
    "config show": ("Show every setting in force.",
                    _AT + "config.show:show"),
    "config get": ("Print one setting, its default where it is not set.",
                   _AT + "config.show:get"),
    "config set": ("Change one setting in config.toml.",
                   _AT + "config.set:set_"),
    "config unset": ("Remove a setting or a table from config.toml.",
                     _AT + "config.set:unset"),
    "config check": ("Check every setting and say what is wrong.",
                     _AT + "config.show:check"),
    "config path": ("Print where the settings and the workspace are.",
                    _AT + "config.show:path"),
    "config edit": ("Open config.toml in an editor and check it before it "
                    "counts.", _AT + "config.edit:edit"),
    "config apply": ("Put a whole config.toml in place, if it holds.",
                     _AT + "config.apply:apply"),
    "config history": ("List earlier versions of config.toml, or show what "
                       "changed after one.", _AT + "config.history:history"),
    "config undo": ("Bring an earlier version of config.toml back.",
                    _AT + "config.history:undo"),
    "config schema": ("Print a JSON Schema of all settings, for editors.",
                      _AT + "config.show:schema_"),
    "session list": ("List conversations, latest first.",
                     _AT + "session:list_"),
    "session show": ("Show what was said in a conversation.",
                     _AT + "session:show"),
    "session clear": ("Remove conversations. Exits 1 when one is not there.",
                      _AT + "session:clear"),
    "session export": ("Print a conversation as stored: one JSON object a "
                       "line.", _AT + "session:export"),
    "log list": ("List questions and turns, the latest first.",
                 _AT + "log.list:list_"),
    "log search": ("Search questions and answers, the latest first.",
                   _AT + "log.search:search"),
    "log show": ("Show one entry: the question, the answer and what it "
                 "took.", _AT + "log.show:show"),
    "log export": ("Print entries whole, as lines of JSON or as Markdown.",
                   _AT + "log.export:export"),
    "log rm": ("Remove entries for good.",
               _AT + "log.rm:rm"),
    "permission allow": ("Let calls of one shape run unasked, in this "
                         "workspace, for a while.",
                         _AT + "permission.standing:allow"),
    "permission list": ("List what may run unasked: id, end, shape, folder, "
                        "channel.", _AT + "permission.standing:list_"),
    "permission revoke": ("Take permissions back. Exits 1 when one is not "
                          "there.", _AT + "permission.standing:revoke"),
    "permission show": ("Show what the agent may do: unasked, after a yes, "
                        "and not at all.", _AT + "permission.show:show"),
    "hook list": ("List the hooks and where they stand.",
                  _AT + "hook:list_"),
    "hook test": ("Run the hooks of one event and show what each answers.",
                  _AT + "hook:test"),
    "security audit": ("Test the defences of this machine and say what does "
                       "not hold.", _AT + "security.audit:audit"),
    "security review": ("Show files of the prompt that a command changed, "
                        "and decide on them.",
                        _AT + "security.review:review"),
    "prove": ("Prove on this machine that no message is lost.",
              _AT + "prove:run"),
    "estop": ("Stop everything at once, and keep claw shut until you lift "
              "it.", _AT + "estop:estop"),
    "onboard": ("Set claw up, question by question.",
                _AT + "onboard.command:onboard"),
    "doctor": ("Check everything once and say what to fix.",
               _AT + "doctor:doctor"),
    "help": ("Print the help page of a command.", _AT + "help:help_"),
    "version": ("Print the version.", _AT + "help:version"),
    "completion": ("Print the completion script of a shell.",
                   _AT + "completion:completion"),
}


def run(arguments: Sequence[str]) -> int:
    """Run one command line; returns the exit code. Never raises."""
    root = Root(COMMANDS, GROUPS, DEFAULTS)
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
