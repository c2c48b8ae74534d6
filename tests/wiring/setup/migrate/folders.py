"""Folders of other agents, made as those agents would have left them."""

import json
import sqlite3
from pathlib import Path

from claw.config.secrets import create_key, seal

SKILL = """---
name: {name}
description: Says how tea is made.
---
Pour hot water over the leaves.
"""


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return root


def make_brain(path: Path, rows, *, wal: bool = False) -> None:
    """A brain.db as ZeroClaw makes it; rows are (key, content, category)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        if wal:
            db.execute("PRAGMA journal_mode=WAL")
        db.execute(
            "CREATE TABLE memories (id TEXT PRIMARY KEY, key TEXT NOT NULL"
            " UNIQUE, content TEXT NOT NULL, category TEXT NOT NULL DEFAULT"
            " 'core', embedding BLOB, created_at TEXT NOT NULL, updated_at"
            " TEXT NOT NULL, session_id TEXT)")
        db.executemany(
            "INSERT INTO memories VALUES (?, ?, ?, ?, NULL,"
            " '2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05+00:00',"
            " NULL)", ((f"id-{n}", *row) for n, row in enumerate(rows)))
    db.close()


def make_jobs(path: Path, rows) -> None:
    """A jobs.db as ZeroClaw makes it; rows are dictionaries."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [
        "id", "expression", "command", "schedule", "job_type", "prompt",
        "name", "session_target", "model", "enabled", "delivery",
        "delete_after_run", "allowed_tools", "created_at", "next_run"]
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE cron_jobs ({', '.join(columns)})")
        for number, row in enumerate(rows):
            held = {"id": f"job-{number}", "command": "", "enabled": 1,
                    "created_at": f"2026-01-0{number + 1}T00:00:00Z",
                    "session_target": "isolated", **row}
            db.execute("INSERT INTO cron_jobs VALUES ("
                       + ", ".join("?" * len(columns)) + ")",
                       [held.get(name) for name in columns])
    db.close()


def zeroclaw(home: Path) -> Path:
    """~/.zeroclaw as March 2026 left it (schema 1)."""
    home.mkdir(parents=True)
    key = create_key(home / ".secret_key")
    write(home, {
        "config.toml": f"""\
default_provider = "anthropic"
default_model = "claude-sonnet-5-5"
default_temperature = 0.4
api_key = "{seal("sk-ant-zeroclaw-secret-1234", key)}"

[memory]
backend = "sqlite"
min_relevance_score = 0.5

[autonomy]
level = "full"
allowed_commands = ["git", "docker"]
max_actions_per_hour = 10

[channels_config]
cli = true

[channels_config.telegram]
bot_token = "{seal("123456:telegram-token-abcdef", key)}"
allowed_users = ["mina", "*"]
mention_only = true

[channels_config.nostr]
private_key = "nsec1"

[observability]
backend = "log"

[node_transport]
enabled = true

[agents.scout]
provider = "openai"
model = "gpt-6.1-terra"

[[cron.jobs]]
id = "digest"
name = "Morning digest"
job_type = "agent"
prompt = "What happened overnight?"
schedule = {{ kind = "cron", expr = "0 7 * * *", tz = "Europe/Berlin" }}
""",
        "workspace/AGENTS.md": "Be brief.\n",
        "workspace/SOUL.md": "You are kind.\n",
        "workspace/MEMORY.md": "# Memory\n- Mina likes green\n",
        "workspace/skills/tea/SKILL.md": SKILL.format(name="tea"),
        "workspace/sessions/telegram_42.jsonl":
            '{"role": "user", "content": "hello"}\n'
            '{"role": "assistant", "content": "hi Mina"}\n',
    })
    make_brain(home / "workspace/memory/brain.db", [
        ("colour", "Mina likes green", "core"),
        ("tea", "Mina drinks tea", "core"),
        ("today", "walked to the lake", "daily")])
    make_jobs(home / "workspace/cron/jobs.db", [
        {"name": "disk", "expression": "*/5 * * * *", "command": "df -h",
         "job_type": "shell"},
        {"name": "tell", "job_type": "agent", "prompt": "Say good night",
         "schedule": '{"kind": "cron", "expr": "0 22 * * *"}',
         "delivery": '{"mode": "announce", "channel": "telegram", "to":'
                     ' "42", "best_effort": true}'},
        {"name": "past", "job_type": "agent", "prompt": "Wish luck",
         "schedule": '{"kind": "at", "at": "2026-01-01T00:00:00Z"}'}])
    return home


def zeroclaw_named(home: Path) -> Path:
    """~/.zeroclaw of 0.8.2 and later (schema 3)."""
    write(home, {
        "config.toml": """\
schema_version = 3

[providers.models.openrouter.default]
api_key = "sk-or-named"
model = "anthropic/claude-sonnet-5"

[providers.models.custom.lab]
uri = "http://127.0.0.1:8000/v1/chat/completions"
model = "qwen3"

[agents.default]
model_provider = "openrouter.default"
risk_profile = "careful"
runtime_profile = "default"

[agents.scout]
model_provider = "custom.lab"

[risk_profiles.careful]
level = "readonly"
always_ask = ["shell"]

[runtime_profiles.default]
max_tool_iterations = 7
max_actions_per_hour = 5

[channels.telegram.default]
bot_token = "1:named"

[channels.telegram.second]
bot_token = "2:named"

[channels.discord.main]
bot_token = "discord-named"

[peer_groups.family]
channel = "telegram.default"
agents = ["default"]
external_peers = ["mina", "1234"]

[cron.digest]
name = "Digest"
job_type = "agent"
prompt = "What is new?"
schedule = { kind = "cron", expr = "0 8 * * *" }
delivery = { mode = "announce", channel = "telegram.default", to = "1234" }
""",
        "agents/default/workspace/AGENTS.md": "Be exact.\n",
        "agents/default/workspace/memory/2026-08-01.md": "- saw a heron\n",
        "shared/skills/tea/SKILL.md": SKILL.format(name="tea"),
        "auth-profiles.json": json.dumps({
            "schema_version": 1, "profiles": {
                "openai:work": {"model_provider": "openai", "kind": "token",
                                "token": "sk-profile"},
                "anthropic:me": {"model_provider": "anthropic",
                                 "kind": "oauth"}}}),
    })
    make_brain(home / "data/memory/brain.db", [("a", "one", "core")])
    make_jobs(home / "data/cron/jobs.db", [])
    path = home / "data/sessions/sessions.db"
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE sessions (id INTEGER PRIMARY KEY,"
                   " session_key TEXT, role TEXT, content TEXT, created_at"
                   " TEXT)")
        db.executemany(
            "INSERT INTO sessions (session_key, role, content, created_at)"
            " VALUES ('telegram_1234', ?, ?, '2026-08-02T10:00:00+00:00')",
            [("user", "are you there?"), ("assistant", "yes")])
    db.close()
    return home


def openclaw(home: Path) -> Path:
    """~/.openclaw of spring 2026: JSON5 settings, files for all else."""
    return write(home, {
        "openclaw.json": """\
// written by a person
{
  meta: { lastTouchedVersion: '2026.3.2' },
  agents: { defaults: {
    model: { primary: 'Opus', fallbacks: ['openai/gpt-6'] },
    models: { 'anthropic/claude-opus-5': { alias: 'Opus' } },
    workspace: '~/.openclaw/workspace', },
  },
  models: { providers: {
    lab: { baseUrl: 'http://127.0.0.1:9000/v1', apiKey: '${LAB_KEY}',
           api: 'openai-completions', models: [{ id: 'qwen3' }] },
  } },
  env: { vars: { LAB_KEY: 'lab-secret' } },
  channels: {
    telegram: { enabled: true, botToken: '99:openclaw', dmPolicy: 'open',
                allowFrom: ['tg:42', '*'], groupPolicy: 'allowlist' },
    whatsapp: { allowFrom: ['+4917012345'] },
    msteams: { appId: 'x' },
  },
  mcp: { servers: { time: { command: 'uvx', args: ['mcp-server-time'] } } },
  gateway: { port: 18789, auth: { token: 'gw' } },
  session: { dmScope: 'main' },
}
""",
        ".env": "ANTHROPIC_API_KEY='sk-ant-openclaw' # mine\n",
        "credentials/telegram-allowFrom.json":
            '{"version": 1, "allowFrom": ["77"]}',
        "exec-approvals.json": json.dumps({"agents": {"main": {
            "allowlist": [{"pattern": "/usr/bin/docker"}]}}}),
        "workspace/AGENTS.md": "Read SOUL.md first.\n",
        "workspace/USER.md": "Mina, in Bonn.\n",
        "workspace/MEMORY.md": "- Mina likes green\n",
        "workspace/memory/2026-03-01.md": "- planted beans\n",
        "workspace/skills/tea/SKILL.md": SKILL.format(name="tea"),
        "skills/evil/SKILL.md": SKILL.format(name="evil") + "\u202e\n",
        "agents/main/sessions/abc.jsonl": "\n".join(map(json.dumps, [
            {"type": "session", "version": 3, "id": "abc"},
            {"type": "message", "timestamp": "2026-03-01T10:00:00.000Z",
             "message": {"role": "user", "content": [
                 {"type": "text", "text": "what grows?"}]}},
            {"type": "message", "message": {"role": "toolResult",
                                            "content": "secret"}},
            {"type": "message", "message": {
                "role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "beans"}]}}])) + "\n{\"ty",
        "agents/main/sessions/sessions.json":
            '{"agent:main:main": {"sessionId": "abc"}}',
        "cron/jobs.json": json.dumps({"version": 1, "jobs": [
            {"id": "1", "name": "news", "enabled": True,
             "schedule": {"kind": "every", "everyMs": 3600000},
             "sessionTarget": "isolated", "payload": {
                 "kind": "agentTurn", "message": "Any news?"},
             "delivery": {"mode": "announce", "channel": "discord",
                          "to": "7"}},
            {"id": "2", "name": "remind", "enabled": True,
             "deleteAfterRun": True, "sessionTarget": "main",
             "schedule": {"kind": "at", "at": "2099-01-01T09:00:00"},
             "payload": {"kind": "systemEvent", "text": "Call Tom"}},
            {"id": "3", "name": "odd", "schedule": {"kind": "moon"},
             "payload": {"kind": "agentTurn", "message": "?"}}]}),
    })


def openclaw_new(home: Path) -> Path:
    """~/.openclaw of autumn 2026: jobs and conversations in databases."""
    write(home, {
        "openclaw.json": json.dumps({
            "meta": {"lastTouchedVersion": "2026.10.6"},
            "agents": {"defaults": {"model": "openrouter/z-ai/glm-5"}},
            "models": {"providers": {"openrouter": {
                "apiKey": {"source": "env", "provider": "default",
                           "id": "ROUTER"}}}},
            "env": {"ROUTER": "sk-or-new"},
            "channels": {"telegram": {"accounts": {
                "default": {"botToken": "7:new"},
                "work": {"botToken": "8:new"}}}}}),
        "workspace/IDENTITY.md": "I am Molty.\n",
    })
    for name in ("state", "agents/main/agent"):
        (home / name).mkdir(parents=True)
    with sqlite3.connect(home / "state/openclaw.sqlite") as db:
        db.execute(
            "CREATE TABLE cron_jobs (store_key TEXT, job_id TEXT, name TEXT,"
            " enabled INTEGER, delete_after_run INTEGER, schedule_kind TEXT,"
            " schedule_expr TEXT, schedule_tz TEXT, every_ms INTEGER, at"
            " TEXT, session_target TEXT, trigger_script TEXT, payload_kind"
            " TEXT, payload_message TEXT, payload_model TEXT, delivery_mode"
            " TEXT, delivery_channel TEXT, delivery_to TEXT,"
            " delivery_best_effort INTEGER, sort_order INTEGER)")
        db.executemany(
            "INSERT INTO cron_jobs VALUES ('s', ?, ?, 1, 0, 'cron',"
            " '0 7 * * *', 'Asia/Tokyo', NULL, NULL, 'isolated', ?, ?, ?,"
            " NULL, 'announce', 'telegram', '42', 1, 0)",
            [("1", "dawn", None, "agentTurn", "What is up?"),
             ("2", "watch", "poll()", "agentTurn", "Look"),
             ("3", "disk", None, "command", "df -h")])
    db.close()
    path = home / "agents/main/agent/openclaw-agent.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE session_nodes (session_key TEXT,"
                   " current_session_id TEXT)")
        db.execute("CREATE TABLE transcript_events (session_id TEXT, seq"
                   " INTEGER, event_json TEXT)")
        db.execute("INSERT INTO session_nodes VALUES ('agent:main:main',"
                   " 's2')")
        db.executemany("INSERT INTO transcript_events VALUES (?, ?, ?)", [
            (id, seq, json.dumps({"type": "message", "message": {
                "role": role, "content": text}}))
            for id, seq, role, text in [
                ("s1", 1, "user", "old"), ("s2", 1, "user", "new"),
                ("s2", 2, "assistant", "yes")]])
    db.close()
    return home


def nanobot(home: Path) -> Path:
    """~/.nanobot of spring 2026: everything in camelCase, allowFrom."""
    return write(home, {
        "config.json": json.dumps({
            "agents": {"defaults": {
                "workspace": "~/.nanobot/workspace",
                "model": "anthropic/claude-opus-4-5", "maxTokens": 8192,
                "temperature": 0.1, "maxToolIterations": 20}},
            "channels": {
                "telegram": {"enabled": True, "token": "5:nano",
                             "allowFrom": ["*"], "proxy": None},
                "whatsapp": {"enabled": False, "bridgeUrl": "ws://x"},
                "email": {"enabled": True, "imapHost": "imap.example.org",
                          "imapPort": 993, "imapUsername": "me",
                          "imapPassword": "mail-secret",
                          "smtpHost": "smtp.example.org", "smtpPort": 587,
                          "allowFrom": ["mina@example.org"]}},
            "providers": {"anthropic": {"apiKey": "", "apiBase": None},
                          "openrouter": {"apiKey": "sk-or-nano"}},
            "gateway": {"host": "0.0.0.0", "port": 18790},
            "tools": {"exec": {"timeout": 60},
                      "mcpServers": {"files": {
                          "command": "npx", "args": ["-y", "server"],
                          "env": {"MY_TOKEN": "mcp-secret"}}}}}),
        "workspace/SOUL.md": "You are a cat.\n",
        "workspace/memory/MEMORY.md": "# Facts\n- Mina likes green\n",
        "workspace/memory/HISTORY.md": "[2026-01-02 10:00] Talked of tea.\n",
        "workspace/skills/tea/SKILL.md": SKILL.format(name="tea"),
        "sessions/telegram_42.jsonl":
            '{"_type": "metadata", "created_at": "2026-01-01"}\n'
            '{"role": "user", "content": "meow?", "timestamp":'
            ' "2026-01-02T10:00:00"}\n'
            '{"role": "tool", "content": "x"}\n'
            '{"role": "assistant", "content": "meow"}\n',
        "cron/jobs.json": json.dumps({"version": 1, "jobs": [
            {"id": "a", "name": "news", "enabled": True,
             "schedule": {"kind": "cron", "expr": "0 9 * * *",
                          "tz": "Asia/Tokyo", "atMs": None,
                          "everyMs": None},
             "payload": {"kind": "agent_turn", "message": "News?",
                         "deliver": True, "channel": "telegram",
                         "to": "42"}, "state": {}}]}),
    })


def nanobot_new(home: Path) -> Path:
    """~/.nanobot of summer 2026: presets, history.jsonl, jobs below the
    workspace, names in snake_case written by hand."""
    return write(home, {
        "config.json": json.dumps({
            "agents": {"defaults": {"model_preset": "fast",
                                    "timezone": "Europe/Berlin"}},
            "model_presets": {"fast": {"model": "gpt-6",
                                       "provider": "openai"}},
            "providers": {"openai": {"api_key": "sk-nano"},
                          "custom": {"api_base": "http://127.0.0.1:9/v1",
                                     "api_key": "k"}}}),
        "workspace/USER.md": "Mina.\n",
        "workspace/memory/history.jsonl":
            '{"cursor": 1, "timestamp": "2026-07-01 09:00", "content":'
            ' "Talked of herons."}\n{"half',
        "workspace/cron/jobs.json": json.dumps({"version": 1, "jobs": [
            {"id": "b", "name": "tick", "enabled": True,
             "schedule": {"kind": "cron", "expr": "0 9 * * *"},
             "payload": {"kind": "agent_turn", "message": "Tick",
                         "originChannel": "telegram",
                         "originChatId": "7"}},
            {"id": "c", "name": "dream", "schedule": {
                "kind": "every", "every_ms": 7200000},
             "payload": {"kind": "system_event", "message": "dream"}}]}),
        "sessions/0a1b/telegram_7.jsonl":
            '{"role": "user", "content": "hi"}\n',
    })


def hermes(home: Path) -> Path:
    """~/.hermes of autumn 2026."""
    write(home, {
        "config.yaml": """\
_config_version: 50
# mine
model:
  default: anthropic/claude-opus-4.6
  provider: auto
  base_url: https://openrouter.ai/api/v1
custom_providers:
- name: lab
  base_url: http://127.0.0.1:8000/v1
  api_key: ${LAB_KEY}
agent:
  max_turns: 60
terminal:
  backend: local
approvals:
  mode: "off"
command_allowlist:
- recursive delete
timezone: Europe/Berlin
mcp_servers:
  time:
    command: uvx
    args: [mcp-server-time]
""",
        ".env": "OPENROUTER_API_KEY=sk-or-hermes\nLAB_KEY=lab\n"
                "TELEGRAM_BOT_TOKEN='8:hermes'\n"
                "TELEGRAM_ALLOWED_USERS=42, 43\n"
                "TELEGRAM_HOME_CHANNEL=42\n"
                "DISCORD_ALLOWED_USERS=9\n"
                "export GATEWAY_ALLOW_ALL_USERS=true\n",
        "SOUL.md": "You are wise.\n",
        "memories/MEMORY.md": "Uses pnpm.\n§\nThe server\nis called lab.\n",
        "memories/USER.md": "Mina likes green.\n",
        "skills/.bundled_manifest": "arxiv:abc\n",
        "skills/research/arxiv/SKILL.md": SKILL.format(name="arxiv"),
        "skills/kitchen/tea/SKILL.md": SKILL.format(name="tea"),
        "cron/jobs.json": json.dumps({"jobs": [
            {"id": "1", "name": "brief", "prompt": "Brief me",
             "schedule": {"kind": "cron", "expr": "0 8 * * 1-5"},
             "deliver": "telegram", "enabled": True},
            {"id": "2", "name": "hourly", "prompt": "Look",
             "schedule": {"kind": "interval", "minutes": 60},
             "deliver": "local", "enabled": True, "state": "paused"},
            {"id": "3", "name": "backup", "script": "b.sh",
             "no_agent": True, "schedule": {"kind": "interval",
                                            "minutes": 5}}]}),
    })
    with sqlite3.connect(home / "state.db") as db:
        db.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT,"
                   " started_at REAL)")
        db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY,"
                   " session_id TEXT, role TEXT, content TEXT, timestamp"
                   " REAL)")
        db.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp)"
            " VALUES ('s1', ?, ?, 1790000000)",
            [("user", "who are you?"), ("tool", "x"),
             ("assistant", "Hermes")])
    db.close()
    return home
