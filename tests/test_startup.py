"""What a local command must not import, by module name."""

import ast
import asyncio
import json
import os
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from claw.memory.settings import MemorySettings
from claw.memory.sqlite.backend import SqliteMemory
from claw.storage.queue.sqlite import SqliteQueue
from claw.storage.sqlite import connect
from claw.testing.fake_openai import FakeOpenAI

KEPT_OFF = {"numpy", "httpx", "rich", "asyncio", "questionary",
            "sqlite_utils", "openai", "cryptography", "importlib.metadata",
            "prompt_toolkit", "watchfiles", "pydantic", "tomlkit", "logging"}

# Imports that stand inside a function, so that a command which does not need
# them does not pay for them. Every other import stands at the top.
LATE = {
    "claw": {"importlib"},
    "claw.__main__": {
        "claw.cli.app",
        "claw.cli.complete.entry",
    },
    "claw.agent.rounds.turn": {
        "claw.agent.parsing",
        "claw.agent.receipt",
    },
    "claw.channels.access": {"asyncio"},
    "claw.channels.client": {"claw.net.http"},
    "claw.channels.connection": {"asyncio"},
    "claw.channels.dingtalk.channel": {
        "claw.channels.dingtalk.api",
        "claw.channels.dingtalk.diagnose",
        "claw.channels.dingtalk.intake",
        "claw.channels.dingtalk.outgoing",
        "claw.channels.dingtalk.sessions",
        "claw.channels.dingtalk.signs",
    },
    "claw.channels.discord.channel": {
        "claw.channels.discord.api",
        "claw.channels.discord.diagnose",
        "claw.channels.discord.drafts",
        "claw.channels.discord.intake",
        "claw.channels.discord.listener",
        "claw.channels.discord.outgoing",
        "claw.channels.discord.parts",
        "claw.channels.discord.rooms",
        "claw.channels.discord.sent",
        "claw.channels.discord.session",
        "claw.channels.discord.signs",
        "claw.net.http",
    },
    "claw.channels.email.channel": {
        "asyncio",
        "claw.channels.email.diagnose",
        "claw.channels.email.intake",
        "claw.channels.email.listener",
        "claw.channels.email.logins",
        "claw.channels.email.outgoing",
        "claw.channels.email.sent",
        "claw.channels.email.smtp",
        "claw.channels.email.threads",
        "claw.channels.outfiles",
        "importlib.util",
    },
    "claw.channels.imessage.channel": {
        "asyncio",
        "claw.channels.imessage.database",
        "claw.channels.imessage.diagnose",
        "claw.channels.imessage.intake",
        "claw.channels.imessage.listener",
        "claw.channels.imessage.mac",
        "claw.channels.imessage.outgoing",
    },
    "claw.channels.email.mailbox": {
        "imapclient",
        "imapclient.exceptions",
    },
    "claw.channels.email.smtp": {"aiosmtplib"},
    "claw.channels.irc.channel": {
        "asyncio",
        "claw.channels.irc.client",
        "claw.channels.irc.diagnose",
        "claw.channels.irc.history",
        "claw.channels.irc.intake",
        "claw.channels.irc.line",
        "claw.channels.irc.outgoing",
        "claw.channels.irc.people",
        "claw.channels.irc.session",
    },
    "claw.channels.lark.channel": {
        "claw.channels.lark.api",
        "claw.channels.lark.diagnose",
        "claw.channels.lark.intake",
        "claw.channels.lark.outgoing",
        "claw.channels.lark.receive",
        "claw.channels.lark.sent",
        "claw.channels.lark.signs",
        "claw.channels.lark.webhook",
    },
    "claw.channels.lark.webhook": {"cryptography.hazmat.primitives.ciphers"},
    "claw.channels.matrix.channel": {
        "claw.channels.matrix.api",
        "claw.channels.matrix.diagnose",
        "claw.channels.matrix.drafts",
        "claw.channels.matrix.encryption",
        "claw.channels.matrix.history",
        "claw.channels.matrix.intake",
        "claw.channels.matrix.outgoing",
        "claw.channels.matrix.parts",
        "claw.channels.matrix.rooms",
        "claw.channels.matrix.sent",
        "claw.channels.matrix.signs",
        "claw.channels.matrix.sync",
    },
    "claw.channels.matrix.machine": {
        "nio.crypto",
        "nio.crypto.attachments",
        "nio.events",
        "nio.exceptions",
        "nio.responses",
        "nio.store",
    },
    "claw.channels.line.channel": {
        "claw.channels.line.api",
        "claw.channels.line.diagnose",
        "claw.channels.line.intake",
        "claw.channels.line.outgoing",
        "claw.channels.line.receive",
        "claw.channels.line.replies",
        "claw.channels.line.signed",
        "claw.channels.line.wire",
        "claw.channels.talks",
    },
    "claw.channels.mattermost.channel": {
        "claw.channels.mattermost.api",
        "claw.channels.mattermost.diagnose",
        "claw.channels.mattermost.intake",
        "claw.channels.mattermost.listen",
        "claw.channels.mattermost.outgoing",
        "claw.channels.mattermost.signs",
    },
    "claw.channels.mqtt.channel": {
        "claw.channels.mqtt.account",
        "claw.channels.mqtt.diagnose",
        "claw.channels.mqtt.intake",
        "claw.channels.mqtt.listener",
        "claw.channels.mqtt.outgoing",
        "claw.channels.mqtt.sender",
    },
    "claw.channels.owned": {"claw.core.channel"},
    "claw.channels.qq.channel": {
        "claw.channels.qq.api",
        "claw.channels.qq.chats",
        "claw.channels.qq.diagnose",
        "claw.channels.qq.events",
        "claw.channels.qq.intake",
        "claw.channels.qq.listener",
        "claw.channels.qq.outgoing",
        "claw.channels.qq.parts",
        "claw.channels.qq.session",
        "claw.channels.qq.webhook",
    },
    "claw.channels.qq.signature": {
        "cryptography.exceptions",
        "cryptography.hazmat.primitives.asymmetric.ed25519",
    },
    "claw.channels.signal.channel": {
        "claw.channels.signal.api",
        "claw.channels.signal.diagnose",
        "claw.channels.signal.intake",
        "claw.channels.signal.listen",
        "claw.channels.signal.outgoing",
        "claw.channels.signal.signs",
        "claw.net.errors",
    },
    "claw.channels.slack.channel": {
        "claw.channels.slack.api",
        "claw.channels.slack.diagnose",
        "claw.channels.slack.intake",
        "claw.channels.slack.outgoing",
        "claw.channels.slack.receive",
        "claw.channels.slack.sent",
        "claw.channels.slack.signs",
    },
    "claw.channels.telegram.channel": {
        "claw.channels.telegram.api",
        "claw.channels.telegram.diagnose",
        "claw.channels.telegram.drafts",
        "claw.channels.telegram.intake",
        "claw.channels.telegram.outgoing",
        "claw.channels.telegram.poll",
        "claw.channels.telegram.sent",
        "claw.channels.telegram.signs",
        "claw.net.http",
    },
    "claw.channels.webhook.channel": {
        "claw.channels.probe",
        "claw.channels.webhook.outgoing",
        "claw.net.listening",
    },
    "claw.channels.whatsapp.channel": {
        "claw.channels.talks",
        "claw.channels.whatsapp.api",
        "claw.channels.whatsapp.diagnose",
        "claw.channels.whatsapp.intake",
        "claw.channels.whatsapp.outgoing",
        "claw.channels.whatsapp.receive",
        "claw.channels.whatsapp.sent",
        "claw.channels.whatsapp.signed",
        "claw.channels.whatsapp.signs",
    },
    "claw.cli.attachments.read": {
        "claw.cli.attachments.documents",
        "claw.cli.attachments.fetch",
        "claw.cli.attachments.folder",
        "claw.cli.attachments.recordings",
        "claw.security.settings",
        "claw.speech.audio",
    },
    "claw.cli.commands.do.terminal": {
        "prompt_toolkit",
        "prompt_toolkit.input",
        "prompt_toolkit.output",
    },
    "claw.cli.complete.asking": {
        "claw.storage.sqlite",
        "claw.text.titles",
        "claw.wiring",
        "claw.wiring.templates",
        "claw.wiring.workspace.place_names",
    },
    "claw.cli.complete.line": {"claw.config.parse"},
    "claw.cli.complete.values": {
        "ast",
        "claw.channels",
        "claw.config.keys",
        "claw.memory.documents.names",
        "claw.providers.catalog.models",
        "claw.providers.catalog.vendors",
        "claw.storage.sessions",
        "claw.tools",
        "zoneinfo",
    },
    "claw.cli.commands.agent": {
        "claw.cli.chat.jsonl",
        "claw.cli.chat.resume",
        "claw.cli.chat.slash",
        "claw.cli.chat.terminal",
    },
    "claw.cli.commands.cost": {"claw.providers.cost.prices"},
    "claw.cli.commands.cron.times": {"zoneinfo"},
    "claw.cli.commands.cron.view": {"zoneinfo"},
    "claw.cli.commands.ask.schema": {
        "claw.agent.structured.answer",
        "claw.agent.structured.short_form",
    },
    "claw.cli.commands.ask.show": {
        "claw.cli.commands.memory.common",
        "claw.cli.terminal.approval",
        "claw.providers.offline",
        "claw.wiring.chat.events",
    },
    "claw.cli.commands.listen": {
        "claw.runtime.process.watchdog",
        "claw.wiring.listen.service",
    },
    "claw.cli.commands.gateway.serve": {"claw.wiring.gateway.serve"},
    "claw.cli.commands.ask.command": {"claw.wiring.ask.templated"},
    "claw.cli.commands.ask.templates": {
        "claw.cli.commands.template.keep",
        "claw.wiring.templates",
        "claw.wiring.templates.write",
    },
    "claw.cli.commands.template.keep": {"claw.wiring.workspace.secrets"},
    "claw.cli.show.output": {
        "claw.cli.chat.markdown",
        "claw.security.redact.held_back",
    },
    "claw.cli.chat.resume": {
        "claw.cli.terminal.search",
        "questionary",
    },
    "claw.cli.show.times": {"claw.text.dates"},
    "claw.cli.commands.memory.recall": {
        "claw.memory.documents.store",
        "claw.wiring.memory.documents",
    },
    "claw.cli.commands.memory.conflicts": {
        "claw.cli.commands.memory.model_pairs",
    },
    "claw.cli.commands.memory.exam": {
        "claw.cli.commands.memory.model_questions",
    },
    "claw.cli.commands.memory.sparing": {"claw.wiring.models.metered"},
    "claw.cli.commands.memory.forget": {
        "claw.cli.commands.memory.prove",
        "claw.memory.forgetting.people",
        "claw.wiring.channels.people",
    },
    "claw.cli.commands.mcp.serve": {"claw.wiring.tools.mcp_serve"},
    "claw.cli.commands.onboard.asking": {
        "claw.cli.terminal.search",
        "prompt_toolkit.key_binding",
        "prompt_toolkit.output",
        "questionary",
    },
    "claw.cli.commands.queue.change": {"claw.storage.queue.sqlite"},
    "claw.cli.commands.tap": {
        "claw.runtime.tap.pipe",
        "claw.runtime.tap.program",
        "claw.wiring.listen.tap",
    },
    "claw.cli.invocation": {"claw.cli.terminal.approval"},
    "claw.config.edit": {"claw.config.secrets"},
    "claw.config.history": {"claw.config.secrets"},
    "claw.config.environment": {"claw.config.parse"},
    "claw.config.places": {"claw.security.files"},
    "claw.config.tree": {
        "claw.config.decode",
        "claw.config.display",
        "claw.config.known",
        "claw.config.lines",
        "claw.config.nodes",
        "claw.config.parse",
        "claw.config.secrets",
        "claw.config.unknown",
    },
    "claw.core.registry": {
        "claw.core.installed",
        "difflib",
    },
    "claw.core.streams": {"ctypes"},
    "claw.memory.embeddings.local": {"claw.memory.embeddings.minilm"},
    "claw.memory.embeddings.minilm": {"concurrent.futures"},
    "claw.memory.search.periods": {"claw.text.dates"},
    "claw.memory.sqlite.backend": {
        "claw.memory.policy",
        "claw.memory.sqlite",
        "claw.memory.sqlite.as_of",
        "claw.memory.sqlite.embedding",
        "claw.memory.sqlite.foreign",
        "claw.memory.sqlite.maintenance",
        "claw.memory.sqlite.statistics",
    },
    "claw.memory.sqlite.check": {"claw.memory.sqlite.vectors.check"},
    "claw.memory.sqlite.embedding": {
        "claw.memory.embeddings.cache",
        "claw.memory.sqlite.vectors",
        "claw.memory.sqlite.vectors.index",
        "claw.memory.sqlite.vectors.rows",
    },
    "claw.memory.sqlite.recovery": {
        "claw.memory.snapshot.format",
        "claw.security.watched.record",
    },
    "claw.memory.sqlite.repair": {"claw.memory.sqlite.vectors.check"},
    "claw.memory.sqlite.schema": {"claw.core.installed"},
    "claw.memory.sqlite.versions": {"claw.memory.embeddings.cache"},
    "claw.net.guarded": {
        "claw.net.hop",
        "claw.net.remote",
    },
    "claw.net.http": {"claw.net.remote"},
    "claw.net.lean": {
        "httpx",
        "httpx._main",
    },
    "claw.net.retry": {"email.utils"},
    "claw.providers.openai.body": {"claw.providers.schema"},
    "claw.providers.openai.official": {"claw.providers.openai.sdk"},
    "claw.providers.openai.quirks": {"hashlib"},
    "claw.providers.openai.sdk": {"azure.identity"},
    "claw.security.files.nofollow": {"shlex"},
    "claw.security.owned": {
        "importlib.util",
        "traceback",
    },
    "claw.security.policy": {"claw.security.shell.commands"},
    "claw.security.redact.redactor": {
        "claw.security.redact.leaks",
        "claw.security.redact.own",
    },
    "claw.storage.jobs.schedule": {
        "cronsim",
        "zoneinfo",
    },
    "claw.storage.log.schema": {"claw.core.installed"},
    "claw.storage.session_place": {"hashlib"},
    "claw.storage.sqlite": {
        "claw.core.installed",
        "claw.storage.leftover",
    },
    "claw.text.documents.child": {"claw.text.documents.pdf"},
    "claw.tools.offer.assemble": {"claw.tools.offer.owned"},
    "claw.wiring.gateway.acp": {"claw.wiring.tools.build"},
    "claw.wiring.ask.api": {
        "claw.agent.structured.answer",
        "claw.agent.structured.validator",
    },
    "claw.tools.hardware.boards": {
        "claw.tools.hardware.native",
        "claw.tools.hardware.serial_line",
    },
    "claw.tools.hardware.native": {"gpiozero"},
    "claw.tools.hardware.serial_line": {"serial"},
    "claw.tools.web.browser.session": {"playwright.async_api"},
    "claw.tools.web.engines": {"html"},
    "claw.tools.web.fetch": {"claw.tools.web.page"},
    "claw.tools.web.foreign": {"claw.text.addresses"},
    "claw.tools.web.request": {"claw.tools.web.page"},
    "claw.wiring.ask.answer": {
        "claw.agent.structured.answer",
        "claw.agent.structured.rows",
        "claw.providers.offline",
    },
    "claw.wiring.ask.documents": {
        "claw.providers.offline.quotes",
        "claw.wiring.memory",
    },
    "claw.wiring.channels.owned": {"claw.wiring.tools.build"},
    "claw.wiring.checks.config": {"claw.wiring.checks.routes",
                                  "claw.wiring.jobs.declared"},
    "claw.wiring.compose": {
        "claw.security.prompt_guard",
        "claw.security.settings",
        "claw.wiring.tools.hooks",
        "claw.wiring.ask.images",
        "claw.wiring.tools.build",
        "claw.wiring.tools.delegates",
        "claw.wiring.tools.messages",
    },
    "claw.wiring.tools.delegates": {
        "claw.agent.structured.answer",
        "claw.agent.structured.following",
    },
    "claw.wiring.memory.hygiene": {
        "claw.memory.hygiene.announce",
        "claw.memory.hygiene.report",
        "claw.memory.hygiene.run",
        "claw.memory.snapshot.file",
    },
    "claw.wiring.listen.gateway": {"claw.wiring.gateway.serve"},
    "claw.wiring.listen.send": {"claw.wiring.tools.hooks"},
    "claw.wiring.ask.images": {
        "claw.net.guarded",
        "claw.security.egress",
    },
    "claw.wiring.models.ledger": {
        "claw.providers.catalog.vendors",
        "claw.providers.cost.call",
        "claw.providers.cost.metered",
        "claw.providers.cost.prices",
        "claw.security.settings",
        "claw.storage.ledger",
    },
    "claw.wiring.memory": {"claw.wiring.memory.embedding"},
    "claw.wiring.memory.documents": {
        "claw.text.documents.folder",
        "claw.wiring.memory.embedding",
    },
    "claw.wiring.memory.embedding": {"claw.wiring.models.metered"},
    "claw.wiring.models.providers": {
        "claw.providers.catalog",
        "claw.providers.cost.prices",
        "claw.providers.resilience.cache",
        "claw.storage.response_cache",
    },
    "claw.wiring.status.waiting": {"claw.wiring.channels.names"},
    "claw.wiring.templates.files": {
        "claw.config.store",
        "claw.config.write",
        "claw.security.files",
    },
    "claw.tools.mcp.pool": {
        "claw.tools.mcp.questions",
        "claw.tools.mcp.results",
        "claw.tools.mcp.session",
    },
    "claw.wiring.tools.build": {
        "claw.tools.skills.tool",
        "claw.wiring.tools.mcp",
        "claw.wiring.tools.skills",
    },
    "claw.wiring.workspace.trust": {
        "claw.security.trust", "claw.storage.jobs.store",
        "claw.wiring.workspace.place_names"},
    "claw.security.estop": {"asyncio"},
}

ROOT = Path(__file__).resolve().parents[1] / "claw"

RUN = """
import json, sys
from claw.cli.app import run
code = run(sys.argv[1:])
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def late_imports():
    """Module -> what its functions import."""
    found = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        for outer in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(outer):
                if isinstance(node, ast.Import):
                    found[name] |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom):
                    found[name].add("." * node.level + (node.module or ""))
    return dict(found)


def test_only_what_is_listed_is_imported_late():
    assert late_imports() == LATE


def modules_after(tmp_path, *arguments, env=None):
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], capture_output=True,
        stdin=subprocess.DEVNULL, check=True, text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
             "CLAW_NO_PROBE": "1", **(env or {})})
    code, names = json.loads(done.stderr.rsplit("\n", 1)[1])
    return code, set(names)


@pytest.mark.parametrize("arguments", [
    ["--help"],
    ["memory", "--help"],
    ["memory", "store", "key", "green tea"],
    ["memory", "recall", "tea"],
    ["memory", "get", "key"],
    ["memory", "list"],
    ["memory", "count"],
    ["memory", "forget", "key"],
    ["channel", "list"],
    ["log", "list"],
    ["log", "export"],
    ["cron", "list"],
    ["cron", "runs"],
    ["config", "path"],
    ["config", "get", "memory.backend"],
    ["status"],
])
def test_local_command_stays_light(tmp_path, arguments):
    (tmp_path / ".claw").mkdir()
    (tmp_path / ".claw" / "config.toml").write_text(
        "[memory]\nauto_save = true\n")
    modules_after(tmp_path, "memory", "store", "key", "green tea")

    code, names = modules_after(tmp_path, *arguments)

    assert code == 0
    assert names & KEPT_OFF == set()


def test_setting_one_key_loads_the_settings_of_its_section_alone(tmp_path):
    code, names = modules_after(tmp_path, "config", "set",
                                "agent.parallel_tools", "true")

    assert code == 0
    loaded = {name for name in names
              if name.startswith("claw.") and name.endswith("settings")}
    assert loaded == {"claw.agent.settings"}
    assert names & (KEPT_OFF - {"tomlkit"}) == set()


@pytest.fixture
def with_past(tmp_path):
    """A home whose memory was overwritten, forgotten and superseded."""
    workspace = tmp_path / ".claw" / "workspace"
    memory = SqliteMemory.open(workspace, MemorySettings())
    with closing(memory):
        for text in ("green tea", "black tea"):
            memory.store("key", text, session_id="a")
            memory.store("other", text, session_id="a")
        memory.store("gone", "white tea")
        memory.forget("gone")
        assert memory.supersede("other", "key")
    return tmp_path


@pytest.mark.parametrize("arguments", [
    ["memory", "recall", "tea"],
    ["memory", "recall", "--explain", "tea"],
    ["memory", "recall", "tea", "--as-of", "2126-01-01"],
    ["memory", "store", "key", "mint tea"],
    ["memory", "stats"],
    ["memory", "history", "key"],
    ["memory", "undo", "gone"],
    ["memory", "check"],
    ["memory", "reindex"],
    ["memory", "export"],
    ["memory", "forget", "key"],
])
def test_a_store_with_a_past_loads_no_more(with_past, arguments):
    code, names = modules_after(with_past, *arguments)

    assert code == 0
    assert names & KEPT_OFF == set()
    assert not {name for name in names
                if name.startswith("claw.memory.embeddings")}


def test_documents_load_no_more_than_memories(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/tea.md").write_text("Mina likes green tea.")
    for arguments in (["memory", "index", str(tmp_path / "notes")],
                      ["memory", "index", "--list"],
                      ["memory", "recall", "--docs", "notes", "tea"]):
        code, names = modules_after(tmp_path, *arguments)

        assert code == 0
        assert names & KEPT_OFF == set()
    assert "claw.security.shell.commands" not in names


@pytest.mark.parametrize("provider", ["none", ""])
def test_vectors_that_nothing_asks_for_load_no_numpy(with_past, provider):
    """A store may hold vectors of a time when they were wanted."""
    path = with_past / ".claw" / "workspace" / "memory" / "brain.db"
    with closing(connect(path)) as brain:
        brain.executescript(
            "INSERT INTO embedding_models VALUES (1, 'toy', 2);"
            "INSERT INTO vectors VALUES (1, 1, x'0000803f0000803f')")
    (with_past / ".claw" / "config.toml").write_text(
        f'[memory]\nembedding_provider = "{provider}"\n')

    for arguments in (["recall", "tea"], ["store", "key", "mint tea"],
                      ["stats"]):
        code, names = modules_after(with_past, "memory", *arguments)

        assert code == 0
        assert names & KEPT_OFF == set()


@pytest.mark.parametrize(("arguments", "expected"), [
    (["queue", "list", "--all"], 0),
    (["why"], 1),
    (["status"], 0),
])
def test_looking_at_the_queue_stays_light(tmp_path, arguments, expected):
    with closing(connect_queue(tmp_path / ".claw" / "workspace")):
        code, names = modules_after(tmp_path, *arguments)

    assert code == expected
    assert names & KEPT_OFF == set()


def connect_queue(workspace):
    """An empty queue, as claw listen leaves it."""
    async def made():
        queue = SqliteQueue(workspace / "state" / "queue.db")
        await queue.aclose()
    asyncio.run(made())
    return connect(workspace / "state" / "queue.db", readonly=True)


def test_ask_imports_no_sdk(tmp_path):
    code, names = modules_after(tmp_path, "ask", "-p", "offline", "6 * 7?")

    assert code == 0
    assert names & {"openai", "numpy", "rich", "sqlite_utils", "pydantic",
                    "prompt_toolkit", "questionary", "cryptography",
                    "importlib.metadata", "httpx", "jsonschema",
                    "claw.agent.structured.short_form"} == set()


@pytest.mark.parametrize("provider", ["custom:{}", "openai"])
def test_a_server_on_this_machine_is_asked_without_httpx(tmp_path, provider):
    with FakeOpenAI(["fine"]) as server:
        code, names = modules_after(
            tmp_path, "ask", "-m", "m", "-p", provider.format(server.url),
            "hello", env={"OPENAI_BASE_URL": server.url,
                          "OPENAI_API_KEY": "sk-test"})

    assert code == 0
    assert names & {"openai", "httpx", "h11", "urllib.request",
                    "email.utils", "http.client", "numpy", "rich",
                    "pydantic", "tomllib", "hashlib", "claw.config.decode",
                    "claw.core.channel", "claw.wiring.templates",
                    "claw.wiring.ask.templated", "claw.text.dates"} == set()


def test_a_template_alone_loads_what_reads_templates(tmp_path):
    with FakeOpenAI(["fine"]) as server:
        code, names = modules_after(
            tmp_path, "ask", "-m", "m", "-p", f"custom:{server.url}",
            "-T", "translate", "-P", "lang=German", "hello")

    assert code == 0
    assert {"claw.wiring.templates", "tomllib"} <= names
