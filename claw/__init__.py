"""claw: a personal agent as a kit of composable shell commands.

    import claw

    with claw.open_memory() as memory:
        memory.store("colour", "Mina likes green")
        print(memory.recall("which colour does Mina like?")[0].content)

    print(claw.ask("what is 6 * 7?")["text"])

Both are plain calls and are what the commands use. They load late: the
package alone imports nothing.
"""

from typing import TYPE_CHECKING, Any

from claw.version import __version__

if TYPE_CHECKING:
    from claw.tools.offer.function import acts, asks, reads
    from claw.wiring.ask.api import ask
    from claw.wiring.memory import open_memory

__all__ = ["__version__", "acts", "ask", "asks", "open_memory", "reads"]

_LATE = {"ask": "claw.wiring.ask.api", "open_memory": "claw.wiring.memory",
         **dict.fromkeys(("acts", "asks", "reads"),
                         "claw.tools.offer.function")}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        from importlib import import_module
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module 'claw' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is to use; for people at a prompt."""
    return sorted(__all__)
