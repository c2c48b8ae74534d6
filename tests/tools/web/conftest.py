"""Real servers on this machine, and tools that may reach them.

`Names` is a name server of ours: site.test leads to 127.0.0.1, which the
guard lets through where a test says so and nowhere else.
"""

import asyncio
from contextlib import asynccontextmanager

import pytest

from claw.core.tool import ToolDeps
from claw.core.turn import TurnContext, current_turn
from claw.net.guarded import GuardedClient
from claw.security.egress import check_url, is_public
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings

OK = b"HTTP/1.1 200 OK\r\n"


class Site:
    """A server that gives each request the next answer, the last one
    again; an answer may be a function of the writer."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []
        self.port = 0
        self.open = 0
        self.asked = asyncio.Event()

    @asynccontextmanager
    async def up(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    def url(self, path="/", host="site.test"):
        return f"http://{host}:{self.port}{path}"

    async def _serve(self, reader, writer):
        self.open += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next((int(line.partition(":")[2])
                           for line in head.split("\r\n") if line.lower()
                           .startswith("content-length:")), 0)
            body = await reader.readexactly(length)
            self.requests.append(head + body.decode())
            self.asked.set()
            answer = self.answers[0]
            if len(self.answers) > 1:
                self.answers.pop(0)
            if callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client has seen enough
        finally:
            writer.close()
            self.open -= 1


class Names:
    """A name server: each question for a name gets its next answer."""

    def __init__(self, **answers):
        self.answers = {name.replace("_", "."): list(a)
                        for name, a in answers.items()}
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append(host)
        found = self.answers.get(host, [["127.0.0.1"]])
        return found.pop(0) if len(found) > 1 else found[0]


class Web:
    """Tools of one test and how they are called."""

    Site = Site
    Names = Names

    def __init__(self, folder):
        self.folder = folder
        self.turn = TurnContext("agent")

    def deps(self, *, near=True, names=None, **autonomy):
        autonomy.setdefault("max_actions_per_hour", 1000)
        policy = SecurityPolicy(AutonomySettings(**autonomy), self.folder,
                                home=self.folder)

        def allowed(address):
            return is_public(address) or (near and address == "127.0.0.1")
        return ToolDeps(self.folder, policy, http=GuardedClient(
            check_url, allowed, resolve=names or Names()))

    async def execute(self, tool, **args):
        token = current_turn.set(self.turn)
        try:
            return await tool.execute(args)
        finally:
            current_turn.reset(token)

    def call(self, tool, site, path="/", host="site.test", **args):
        """The tool's result for an address of this site."""
        async def go():
            async with site.up():
                return await self.execute(tool, url=site.url(path, host),
                                          **args)
        return asyncio.run(go())

    @staticmethod
    def answer(body, *headers, status="200 OK"):
        data = body if isinstance(body, bytes) else body.encode()
        lines = "".join(f"{line}\r\n" for line in headers)
        return (f"HTTP/1.1 {status}\r\n{lines}Content-Length: {len(data)}"
                "\r\n\r\n").encode() + data

    @staticmethod
    def moved(location, status=302):
        return (f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\n"
                "Content-Length: 0\r\n\r\n").encode()


@pytest.fixture
def web(tmp_path):
    return Web(tmp_path)
