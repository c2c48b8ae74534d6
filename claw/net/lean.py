"""httpx without its command-line half.

`import httpx` pulls in httpx._main, and with it click, rich and pygments
where those are installed: 40 ms of CPU for a function nobody here calls. An
empty stand-in takes that module's place while httpx is imported and goes
away again, so other code finds the real one. If httpx was imported before,
nothing is touched.
"""

import sys
from types import ModuleType
from typing import Any

_PLACE = "httpx._main"


def _main() -> Any:
    """What `httpx.main` is meanwhile: it calls the real one."""
    from httpx._main import main
    return main()


def _import_lean() -> ModuleType:
    if "httpx" in sys.modules or _PLACE in sys.modules:
        import httpx as whole
        return whole
    stand_in = ModuleType(_PLACE)
    stand_in.__dict__["main"] = _main
    sys.modules[_PLACE] = stand_in
    try:
        import httpx as lean
    finally:
        if sys.modules.get(_PLACE) is stand_in:
            del sys.modules[_PLACE]
    return lean


_import_lean()

import httpx  # noqa: E402

__all__ = ["httpx"]
