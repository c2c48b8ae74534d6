"""The tables of queue.db and their version.

A row with `finished_at` NULL is open. Open and finished rows have indexes
of their own, so that what is looked up for every message does not grow
with what was ever answered; each query says which it means. A finished
row becomes "forgotten" (its payload goes, its id stays), then it is
removed. `seq` is never used twice.

Times are unix seconds of the wall clock, but for `leases`: theirs are
seconds since the boot that the owner names.
"""



VERSION = 2
# What a file of version 1 lacks.
FROM_1 = ("ALTER TABLE outbox ADD COLUMN seen TEXT",)
# The same for who only reads.
AS_IF_NEW = ("CREATE TEMP VIEW outbox AS SELECT *, NULL AS seen"
             " FROM main.outbox")

TABLES = (
    """
CREATE TABLE inbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    message_id TEXT NOT NULL,
    conversation TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    received_at REAL NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    lease TEXT,
    fence INTEGER,
    draft_id TEXT,
    finished_at REAL,
    reason TEXT,
    answered_in TEXT,
    payload TEXT
)""",
    "CREATE UNIQUE INDEX inbox_ids ON inbox (message_id, channel)",
    "CREATE INDEX inbox_open ON inbox (state, conversation, seq)"
    " WHERE finished_at IS NULL",
    "CREATE INDEX inbox_finished ON inbox (state, finished_at)"
    " WHERE finished_at IS NOT NULL",
    "CREATE INDEX inbox_turns ON inbox (turn_id)",
    "CREATE INDEX inbox_answers ON inbox (answered_in)"
    " WHERE answered_in IS NOT NULL",
    """
CREATE TABLE sends (
    source TEXT PRIMARY KEY,
    message TEXT,
    created_at REAL NOT NULL
)""",
    """
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    number INTEGER NOT NULL,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    state TEXT NOT NULL,
    message_id TEXT,
    uncertain INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_at REAL NOT NULL,
    put_at REAL NOT NULL,
    error TEXT,
    created_at REAL NOT NULL,
    finished_at REAL,
    lease TEXT,
    fence INTEGER,
    part TEXT,
    seen TEXT
)""",
    "CREATE UNIQUE INDEX outbox_sources ON outbox (source, number)",
    "CREATE INDEX outbox_open ON outbox (channel, chat, seq)"
    " WHERE finished_at IS NULL",
    "CREATE UNIQUE INDEX outbox_sending ON outbox (channel, chat)"
    " WHERE state = 'sending'",
    "CREATE INDEX outbox_finished ON outbox (state, finished_at)"
    " WHERE finished_at IS NOT NULL",
    """
CREATE TABLE history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation TEXT NOT NULL,
    op TEXT NOT NULL,
    record TEXT NOT NULL
)""",
    "CREATE INDEX history_conversations ON history (conversation, seq)",
    """
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    turn_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    written_at REAL NOT NULL
)""",
    "CREATE INDEX journal_turns ON journal (turn_id, seq)",
    """
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    turn_id TEXT NOT NULL,
    key TEXT NOT NULL,
    channel TEXT NOT NULL,
    sender TEXT NOT NULL,
    summary TEXT NOT NULL,
    expires_at REAL NOT NULL,
    decision TEXT
)""",
    "CREATE INDEX approvals_turns ON approvals (turn_id, key)",
    """
CREATE TABLE traces (
    turn_id TEXT PRIMARY KEY,
    data TEXT NOT NULL,
    finished_at REAL NOT NULL
)""",
    "CREATE INDEX traces_times ON traces (finished_at)",
    """
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    fence INTEGER NOT NULL,
    ttl REAL NOT NULL,
    until REAL NOT NULL
)""",
)
