"""Whether an address can be listened on, and why not."""

import asyncio
import errno

from claw.core.abilities import Finding
from claw.core.errors import ClawError, ConfigError, UnavailableError

# What our servers say of themselves.
SERVER_NAME = "claw"
_NOT_OURS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def bind_error(section: str, host: str, port: int, error: OSError
               ) -> ClawError:
    """Why not; `section` is the table of config.toml that names it."""
    where = f"{section.rpartition('.')[2]}: can't listen on {host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return UnavailableError(
            f"{where}: another program holds the port",
            hint=f"find it with: ss -ltnp 'sport = :{port}'; or choose "
                 f"another: claw config set {section}.port")
    if error.errno == errno.EACCES:
        return ConfigError(f"{where}: this user may not",
                           hint="use a port from 1024 up: claw config set "
                                f"{section}.port")
    if error.errno in _NOT_OURS or error.errno is None or error.errno < 0:
        return ConfigError(f"{where}: this machine has no such address",
                           hint=f"claw config set {section}.host 127.0.0.1")
    return UnavailableError(f"{where}: {error.strerror or error}")


async def find_holder(section: str, host: str, port: int, error: OSError
                      ) -> ClawError:
    """`bind_error`, which says whether it is a claw that holds the port."""
    problem = bind_error(section, host, port, error)
    if error.errno != errno.EADDRINUSE or not await _is_claw(host, port):
        return problem
    return UnavailableError(
        problem.message.replace("another program", "another claw"),
        hint=f"claw status names it; {problem.hint}")


async def find_port(section: str, host: str, port: int) -> Finding:
    """Whether the port is free, or a claw's that runs."""
    try:
        server = await asyncio.start_server(
            lambda reader, writer: writer.close(), host, port)
    except OSError as error:
        if await _is_claw(host, port):
            return Finding("port", "ok",
                           f"a running claw listens on {host}:{port}")
        problem = bind_error(section, host, port, error)
        return Finding("port", "fail", problem.message, problem.hint)
    server.close()
    await server.wait_closed()
    return Finding("port", "ok", f"{host}:{port} is free")


async def _is_claw(host: str, port: int) -> bool:
    """Whether the program on this port is one of us."""
    near = "127.0.0.1" if host in ("0.0.0.0", "") else host
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_connection(near, port)
            try:
                writer.write(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                head = await reader.read(1024)
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
    return f"server: {SERVER_NAME}\r\n" in head.decode("latin-1").lower()
