"""Value: frozen records that cost little to define; Record: open ones.

    class ToolCall(Value):
        id: str
        name: str
        arguments: str = "{}"

A frozen dataclass with slots costs 0.4 ms of CPU when its module is
imported (six methods are written as text and compiled); claw has about
a hundred of them, and a start-up budget. A Value costs 0.01 ms: its methods
are shared. To a type checker it is a frozen dataclass.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T", bound="_Fields")
D = TypeVar("D")

_MISSING: Any = object()


class _Field:
    """What `made` and `hidden` leave as the value of a class attribute."""

    def __init__(self, default: Any, factory: Any, shown: bool) -> None:
        self.default = default
        self.factory = factory
        self.shown = shown


def made(*, factory: Callable[[], D]) -> D:
    """A field whose default is made anew for each value."""
    return _Field(_MISSING, factory, True)  # type: ignore[return-value]


def hidden(*, default: Any = _MISSING,
           factory: Callable[[], Any] | None = None) -> Any:
    """A field that repr leaves out."""
    return _Field(default, factory, False)


def _annotations(cls: type) -> dict[str, Any]:
    """What the class itself declares. Since Python 3.14 a class no longer
    holds it ready (PEP 649)."""
    own = cls.__dict__.get("__annotations__")  # noqa: RUF063
    if own is None and sys.version_info >= (3, 14):
        lib = importlib.import_module("annotationlib")
        own = lib.get_annotations(cls, format=lib.Format.FORWARDREF)
    return own or {}


class _Fields:
    """What is made of the fields that a class declares."""

    __fields: tuple[str, ...] = ()
    __known: frozenset[str] = frozenset()
    __defaults: dict[str, Any] = {}  # noqa: RUF012
    __factories: dict[str, Callable[[], Any]] = {}  # noqa: RUF012
    __hidden: frozenset[str] = frozenset()

    def __init_subclass__(cls) -> None:
        defaults, factories = dict(cls.__defaults), dict(cls.__factories)
        unseen = set(cls.__hidden)
        own = [name for name, kind in _annotations(cls).items()
               if not str(kind).startswith(("typing.ClassVar", "ClassVar"))]
        for name in own:
            given = cls.__dict__.get(name, _MISSING)
            if isinstance(given, _Field):
                delattr(cls, name)
                if not given.shown:
                    unseen.add(name)
                if given.factory is not None:
                    factories[name] = given.factory
                given = given.default
            if given is not _MISSING:
                defaults[name] = given
        cls.__fields = (*cls.__fields,
                        *(n for n in own if n not in cls.__fields))
        cls.__known = frozenset(cls.__fields)
        cls.__defaults, cls.__factories = defaults, factories
        cls.__hidden = frozenset(unseen)
        cls.__match_args__ = cls.__fields  # type: ignore[attr-defined, misc]

    def __init__(self, *args: Any, **named: Any) -> None:
        fields, given = self.__fields, self.__dict__
        if len(args) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} "
                            f"values, {len(args)} were given")
        given.update(zip(fields, args, strict=False))
        given.update(named)
        if len(given) != len(args) + len(named) \
                or not named.keys() <= self.__known:
            self.__refuse(args, named)
        if len(given) != len(fields):
            for name in fields:
                if name not in given:
                    given[name] = self.__default(name)
        self.__post_init__()

    def __refuse(self, args: tuple[Any, ...], named: dict[str, Any]
                 ) -> NoReturn:
        fields = self.__fields
        name = next(name for name in named if name not in fields
                    or name in fields[:len(args)])
        raise TypeError(f"{type(self).__name__}: {name!r} is "
                        "unknown or given twice")

    def __post_init__(self) -> None:
        """Check the fields; raise ValueError."""

    def __default(self, name: str) -> Any:
        if name in self.__factories:
            return self.__factories[name]()
        if name in self.__defaults:
            return self.__defaults[name]
        raise TypeError(f"{type(self).__name__}: {name!r} is missing")

    def _values(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[name] for name in self.__fields)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.__dict__[name]!r}"
                          for name in self.__fields
                          if name not in self.__hidden)
        return f"{type(self).__name__}({shown})"

    def _replaced(self, changes: dict[str, Any]) -> Any:
        return type(self)(**{**{n: self.__dict__[n] for n in self.__fields},
                             **changes})


@dataclass_transform(field_specifiers=(made, hidden))
class Record(_Fields):
    """Base of records whose fields change, compared field by field."""


@dataclass_transform(frozen_default=True, field_specifiers=(made, hidden))
class Value(_Fields):
    """Base of frozen records, compared and hashed field by field."""

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")


def replace(value: T, /, **changes: Any) -> T:
    """The value with some fields changed."""
    changed: T = value._replaced(changes)
    return changed
