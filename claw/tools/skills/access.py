"""What a skill's scripts reach: files, hosts and programs. Pure."""

import msgspec

_KINDS = {"reads": "reads", "writes": "changes", "lists": "lists",
          "hosts": "connects to", "programs": "runs"}


class Access(msgspec.Struct, frozen=True):
    """Absolute paths of files and programs, hosts as "name:port".

    The workspace itself stands for all that lies in it. `lists` are folders
    that were listed: they are shown, and never granted.
    """

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()

    def __or__(self, other: "Access") -> "Access":
        return Access(*(getattr(self, kind) | getattr(other, kind)
                        for kind in _KINDS))

    def __sub__(self, other: "Access") -> "Access":
        """What `other` does not cover; who may change may read."""
        rest = {kind: getattr(self, kind) - getattr(other, kind)
                for kind in _KINDS}
        rest["reads"] -= other.writes
        return Access(**rest)

    def __bool__(self) -> bool:
        return any(getattr(self, kind) for kind in _KINDS)

    def render(self) -> list[str]:
        """A line each: "reads /etc/hosts"."""
        return [f"{verb} {each}" for kind, verb in _KINDS.items()
                for each in sorted(getattr(self, kind))]

    def to_json(self) -> dict[str, list[str]]:
        return {kind: sorted(getattr(self, kind)) for kind in _KINDS}
