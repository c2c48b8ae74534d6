"""Listening on an address, with uvicorn's protocol and none of its loop.

uvicorn's own server wakes ten times a second, takes over the signals and
leaves the process when a port is taken. Here a taken port is an error, the
signals are the caller's, and an idle server wakes for nothing.
"""

import asyncio
import resource
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from claw.core.value import replace
from claw.gateway.connection import Connection
from claw.gateway.room import Limits, Room
from claw.net.listening import find_holder

_OTHER_FILES = 256  # databases, channels, tools


class Server:
    """Serves an ASGI application at one address. `section` is the table
    that names the address, for the words of errors."""

    def __init__(self, app: Any, limits: Limits | None = None,
                 section: str = "gateway") -> None:
        self._limits = fit_limits(limits or Limits())
        self._section = section
        self._room = Room(self._limits)
        self._state = ServerState()
        # httptools and websockets are not looked for, environment
        # variables not read, logging left alone.
        self._config = Config(app, http=Connection, ws="none",
                              lifespan="off", log_config=None,
                              proxy_headers=False, interface="asgi3")
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Bind and serve; the port. Raises UnavailableError where it is
        taken, ConfigError where it can't be ours."""
        try:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: Connection(self._config, self._state, self._room,
                                   self._limits),
                host, port, reuse_address=True, backlog=256)
        except OSError as error:
            raise await find_holder(self._section, host, port, error
                                    ) from error
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Take no more; let what is being answered end, `grace_s` long."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        tasks = self._state.tasks
        if tasks:
            await asyncio.wait(set(tasks), timeout=self._limits.grace_s)
        for task in list(tasks):
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self._state.connections):
            connection.transport.close()

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._state.connections)



def fit_limits(limits: Limits) -> Limits:
    """These limits, with as many connections as there are descriptors: each
    may need two, for a model is asked over one of its own. The usual soft
    limit of 1,024 is raised; who runs out can keep no message either."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * limits.connections + _OTHER_FILES
    if 0 <= soft < wanted and soft != hard:
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    most = (soft - _OTHER_FILES) // 2 if soft >= 0 else limits.connections
    return replace(limits, connections=min(limits.connections,
                                           max(most, limits.unfinished)))
