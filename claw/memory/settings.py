"""The [memory] table of config.toml."""

from typing import Annotated, Literal

import msgspec

from claw.core.memory import MIN_RELEVANCE

# Accepted because the reference's files have them; nothing reads them yet.
INERT = tuple(f"memory.{name}" for name in (
    "chunk_max_tokens", "retrieval_stages", "rerank_enabled",
    "rerank_threshold", "fts_early_return_score", "audit_enabled",
    "audit_retention_days", "qdrant"))

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Weight = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class QdrantSettings(msgspec.Struct, frozen=True, kw_only=True):
    """[memory.qdrant]: known, used later."""

    url: str | None = None
    collection: str = "zeroclaw_memories"
    api_key: str | None = None


class MemoryPolicySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[memory.policy]

    retention_days_by_category: days until hygiene removes a category
    max_entries_per_namespace: refuse more memories in one (0: no limit)
    max_entries_per_category: refuse more memories in one (0: no limit)
    read_only_namespaces: namespaces that nothing may be written to
    """

    max_entries_per_namespace: Count = 0
    max_entries_per_category: Count = 0
    retention_days_by_category: dict[str, Count] = {}
    read_only_namespaces: tuple[str, ...] = ()


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[memory]; the keys without a meaning here stand in INERT.

    backend: where memories are kept: sqlite, markdown, lucid, postgres, ...
    auto_save: keep what people say as memories
    min_relevance_score: the agent is not shown what scores less, 0 to 1
    embedding_provider: none, local, openai, openrouter or custom:<url>
    embedding_model: the model that makes vectors, or hint:<name>
    embedding_dimensions: the length of its vectors
    embedding_api_key: the key of the embedding provider
    embedding_cache_size: vectors kept for texts that come again
    response_cache_enabled: answer the same question at temperature 0 again
    response_cache_ttl_minutes: how long such an answer counts
    response_cache_max_entries: how many are kept
    response_cache_hot_entries: how many of them in memory
    vector_weight: how much the meaning counts in a score
    keyword_weight: how much the words count
    merge: how both become a score: measured, or seed (0.7 cosine + 0.3 BM25)
    hygiene_enabled: look after the memory, at most twice a day
    archive_after_days: move daily files and old sessions away (0: never)
    purge_after_days: remove archived files, messages of that age (0: never)
    conversation_retention_days: remove what came so long ago (0: never)
    undo_retention_days: keep what was forgotten, for undo (0: not at all)
    history_retention_days: keep old states, and what was removed (0: not)
    max_versions: keep so many old states of one memory (0: all)
    max_size_mb: above so many MiB caches, old states, old talk go (0: never)
    snapshot_enabled: write MEMORY_SNAPSHOT.md at every start
    snapshot_on_hygiene: write it whenever hygiene has run (enough alone)
    auto_hydrate: restore MEMORY_SNAPSHOT.md when brain.db is missing
    conflict_threshold: how alike a fact is that a new one replaces (2: none)
    consolidation_turns: turns of a chat per model call (1: after each)
    default_namespace: the namespace of new memories
    sqlite_open_timeout_secs: seconds to open brain.db, at most 300
    """

    backend: str = "sqlite"
    auto_save: bool = True
    hygiene_enabled: bool = True
    archive_after_days: Count = 7
    purge_after_days: Count = 30
    conversation_retention_days: Count = 30
    undo_retention_days: Count = 30
    history_retention_days: Count = 365
    max_versions: Count = 20
    max_size_mb: Count = 0
    embedding_provider: str = "none"
    embedding_model: str = "text-embedding-3-small"
    embedding_dimensions: Count = 1536
    embedding_api_key: str = ""
    embedding_cache_size: Count = 10_000
    vector_weight: Weight = 0.7
    keyword_weight: Weight = 0.3
    merge: Literal["measured", "seed"] = "measured"
    min_relevance_score: Share = MIN_RELEVANCE
    chunk_max_tokens: Count = 512
    response_cache_enabled: bool = False
    response_cache_ttl_minutes: Count = 60
    response_cache_max_entries: Count = 5_000
    response_cache_hot_entries: Count = 256
    snapshot_enabled: bool = False
    snapshot_on_hygiene: bool = False
    auto_hydrate: bool = True
    retrieval_stages: tuple[str, ...] = ("cache", "fts", "vector")
    rerank_enabled: bool = False
    rerank_threshold: Count = 5
    fts_early_return_score: Weight = 0.85
    default_namespace: str = "default"
    conflict_threshold: Weight = 0.85
    consolidation_turns: Annotated[int, msgspec.Meta(ge=1)] = 1
    audit_enabled: bool = False
    audit_retention_days: Count = 30
    sqlite_open_timeout_secs: Seconds | None = None
    policy: MemoryPolicySettings = MemoryPolicySettings()
    qdrant: QdrantSettings = QdrantSettings()
