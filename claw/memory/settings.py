"""The [memory] table of config.toml."""

from typing import Annotated

import msgspec

# Accepted because the reference's files have them; nothing reads them yet.
INERT = tuple(f"memory.{name}" for name in (
    "hygiene_enabled", "archive_after_days", "purge_after_days",
    "conversation_retention_days", "embedding_provider", "embedding_model",
    "embedding_dimensions", "embedding_cache_size", "vector_weight",
    "keyword_weight", "chunk_max_tokens", "response_cache_enabled",
    "response_cache_ttl_minutes", "response_cache_max_entries",
    "response_cache_hot_entries", "snapshot_enabled", "snapshot_on_hygiene",
    "retrieval_stages", "rerank_enabled", "rerank_threshold",
    "fts_early_return_score", "conflict_threshold", "audit_enabled",
    "audit_retention_days", "policy", "qdrant"))

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
    """[memory.policy]: known, used later."""

    max_entries_per_namespace: Count = 0
    max_entries_per_category: Count = 0
    retention_days_by_category: dict[str, int] = {}
    read_only_namespaces: tuple[str, ...] = ()


class MemorySettings(msgspec.Struct, frozen=True, kw_only=True):
    """[memory]; the keys without a meaning here stand in INERT.

    backend: where memories are kept: sqlite, ephemeral or none
    auto_save: claw agent keeps what is said as memories
    min_relevance_score: the agent is not shown what scores less, 0 to 1
    auto_hydrate: restore MEMORY_SNAPSHOT.md when brain.db is missing
    default_namespace: the namespace of new memories
    sqlite_open_timeout_secs: seconds to open brain.db, at most 300
    """

    backend: str = "sqlite"
    auto_save: bool = True
    hygiene_enabled: bool = True
    archive_after_days: Count = 7
    purge_after_days: Count = 30
    conversation_retention_days: Count = 30
    embedding_provider: str = "none"
    embedding_model: str = "text-embedding-3-small"
    embedding_dimensions: Count = 1536
    embedding_cache_size: Count = 10_000
    vector_weight: Weight = 0.7
    keyword_weight: Weight = 0.3
    min_relevance_score: Share = 0.4
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
    audit_enabled: bool = False
    audit_retention_days: Count = 30
    sqlite_open_timeout_secs: Seconds | None = None
    policy: MemoryPolicySettings = MemoryPolicySettings()
    qdrant: QdrantSettings = QdrantSettings()
