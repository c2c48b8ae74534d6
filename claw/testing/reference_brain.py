"""A brain.db as the reference writes it (spec of its file format)."""

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

SCHEMA = """
CREATE TABLE memories (
    id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL,
    category TEXT NOT NULL DEFAULT 'core', embedding BLOB,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, session_id TEXT);
CREATE INDEX idx_memories_category ON memories(category);
CREATE INDEX idx_memories_key ON memories(key);
CREATE INDEX idx_memories_session ON memories(session_id);
CREATE VIRTUAL TABLE memories_fts USING fts5(
    key, content, content=memories, content_rowid=rowid);
CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
    INSERT INTO memories_fts(rowid, key, content)
    VALUES (new.rowid, new.key, new.content); END;
CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
    INSERT INTO memories_fts(memories_fts, rowid, key, content)
    VALUES ('delete', old.rowid, old.key, old.content); END;
CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN
    INSERT INTO memories_fts(memories_fts, rowid, key, content)
    VALUES ('delete', old.rowid, old.key, old.content);
    INSERT INTO memories_fts(rowid, key, content)
    VALUES (new.rowid, new.key, new.content); END;
CREATE TABLE embedding_cache (
    content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL,
    created_at TEXT NOT NULL, accessed_at TEXT NOT NULL);
CREATE INDEX idx_cache_accessed ON embedding_cache(accessed_at);
"""
# Each was added later in its life.
LATER = """
ALTER TABLE memories ADD COLUMN namespace TEXT DEFAULT 'default';
ALTER TABLE memories ADD COLUMN importance REAL DEFAULT 0.5;
ALTER TABLE memories ADD COLUMN superseded_by TEXT;
CREATE INDEX idx_memories_namespace ON memories(namespace);
"""
ROWS = """
INSERT INTO memories (id, key, content, category, embedding, created_at,
                      updated_at, session_id) VALUES
 ('id-1', 'colour', 'Mina likes green', 'core', x'0000803f0000003f',
  '2026-03-24T10:00:00.123456789+01:00', '2026-03-25T10:00:00+09:00', NULL),
 ('id-2', '猫', '我的猫名字是咪咪', 'daily', NULL,
  '2026-03-24T23:30:00-05:00', '2026-03-24T23:30:00-05:00', 's1'),
 ('id-3', 'old colour', 'Mina likes blue', 'core', NULL,
  '2025-01-01T00:00:00+00:00', '2025-01-01T00:00:00+00:00', NULL),
 ('id-4', 'odd', CAST(x'6162ff' AS TEXT), 'conversation', NULL,
  'long ago', '2026-03-01T00:00:00+01:00', 'telegram_7');
INSERT INTO embedding_cache VALUES
 ('b94d27b9934d3e08', x'0000803f', '2026-03-24T10:00:00+01:00', 'now');
"""
LATER_ROWS = """
UPDATE memories SET superseded_by = 'id-1' WHERE id = 'id-3';
UPDATE memories SET namespace = 'work', importance = 0.9 WHERE id = 'id-2';
"""


def reference_brain(path: Path, *, later: bool = True,
                    more: str = "") -> Path:
    """The file, in WAL mode as the reference leaves it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(SCHEMA + (LATER if later else "") + ROWS
                                 + (LATER_ROWS if later else "") + more)
    return path


def add_without_checkpoint(path: Path, statement: str) -> None:
    """Commit a change that stays in the log: its writer is killed."""
    subprocess.run([sys.executable, "-c", (
        "import os, sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute(sys.argv[2])\n"
        "os._exit(0)"), str(path), statement], check=True)
