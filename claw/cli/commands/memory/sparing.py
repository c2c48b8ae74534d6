"""The memory for many questions that nobody asked: it costs no money."""

from collections.abc import Iterator
from contextlib import contextmanager

from claw.cli.commands.memory.common import open_memory, require_keeping
from claw.cli.invocation import Invocation
from claw.core.memory import EmbedsMemories, Memory


@contextmanager
def open_sparing(run: Invocation, *, vectors: bool) -> Iterator[Memory]:
    """The memory, open for reading; where somebody is paid for the vectors
    of questions it looks for words alone, unless `vectors` are wanted."""
    with open_memory(run) as memory:
        require_keeping(memory)
        if vectors or not _is_paid(memory):
            yield memory
            return
    for name in ("embedding_provider", "embedding_model"):
        run.settings.override(("memory", name), "none", "flag", "exam")
    run.out.note("memories are looked for by words alone: a server would be "
                 "paid for the vectors of the questions")
    with open_memory(run) as memory:
        yield memory


def _is_paid(memory: Memory) -> bool:
    """Whether somebody is paid for each question."""
    if not isinstance(memory, EmbedsMemories) or memory.embedder is None:
        return False
    from claw.wiring.models.metered import MeteredEmbedder
    return isinstance(memory.embedder, MeteredEmbedder) \
        and memory.embedder.is_paid
