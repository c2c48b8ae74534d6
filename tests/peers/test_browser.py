"""The tool browser drives a real Chromium over pages of this machine."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from claw.core.errors import MissingPartError
from claw.core.tool import ToolDeps
from claw.core.turn import TurnContext, current_turn
from claw.net.guarded import GuardedClient
from claw.security.approval import needs_approval
from claw.security.egress import check_url, is_public
from claw.security.policy import SecurityPolicy
from claw.security.settings import AutonomySettings
from claw.testing.http_server import HttpServer, Reply
from claw.tools.web.browser import Browser
from claw.tools.web.browser.session import find_program
from claw.tools.web.settings import BrowserSettings

HERE = Path(__file__).parent
PLAYWRIGHT = Path(os.environ.get(
    "CLAW_PEERS_DIR", Path.home() / ".cache" / "claw-peers")) / "playwright"
INSTALL = f"run {HERE / 'install.sh'}"

pytestmark = [pytest.mark.peers, pytest.mark.slow]

FORM = """<title>Order</title><h1>Tea</h1>
<form action="/order"><label>Name <input name="n" placeholder="your name">
</label><button>Send</button></form>
<p id="late"></p><div style="height:3000px"></div><a href="/away">Away</a>
<script>setTimeout(() => {document.getElementById("late").textContent =
"It is ready"}, 300)</script>"""


@pytest.fixture(scope="module", autouse=True)
def _installed(only_chromium):
    sys.path.append(str(PLAYWRIGHT))
    try:
        pytest.importorskip("playwright.async_api",
                            reason=f"no playwright ({INSTALL})")
        try:
            find_program(None)
        except MissingPartError:
            pytest.skip(f"no Chromium ({INSTALL})")
        yield
    finally:
        sys.path.remove(str(PLAYWRIGHT))


def list_processes():
    """Chromiums and drivers that run: {pid: command}."""
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if not folder.name.isdigit() \
                    or folder.stat().st_uid != os.getuid():
                continue
            command = (folder / "cmdline").read_bytes().replace(
                b"\0", b" ").decode(errors="replace")
            if "playwright" in command and (
                    "chrom" in command or "driver" in command):
                found[int(folder.name)] = command
    return found


def wait_for_end(before, limit_s=20):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        left = {pid: command for pid, command in list_processes().items()
                if pid not in before}
        if not left:
            return {}
        time.sleep(0.1)
    return left


class Pages:
    """A site: path -> Reply, or a function of the request."""

    def __init__(self):
        self.asked = []
        self.pages = {"/": FORM}
        self.server = HttpServer(self._handle)

    def _handle(self, request):
        self.asked.append(request.target)
        page = self.pages.get(request.path, "<title>Page</title>")
        return page if isinstance(page, Reply) else Reply(
            200, page.encode(), "text/html; charset=utf-8")

    def url(self, path="/", host="127.0.0.1"):
        return f"http://{host}:{self.server.port}{path}"


@pytest.fixture
def pages():
    site = Pages()
    site.server.start()
    yield site
    site.server.stop()


class Driver:
    """One turn with the tool, on a loop of its own."""

    def __init__(self, folder, **settings):
        policy = SecurityPolicy(
            AutonomySettings(max_actions_per_hour=1000), folder, home=folder)
        self.tool = Browser(
            ToolDeps(folder, policy, http=GuardedClient(check_url,
                                                        is_public)),
            BrowserSettings(**{"enabled": True,
                               "allowed_domains": ["127.0.0.1"],
                               "allowed_private_hosts": ["127.0.0.1"],
                               **settings}))
        self.turn = TurnContext("agent")
        self._loop = asyncio.new_event_loop()

    def run(self, work):
        return self._loop.run_until_complete(work)

    async def execute(self, action, **args):
        current_turn.set(self.turn)
        return await self.tool.execute({"action": action, **args})

    def do(self, action, **args):
        result = self.run(self.execute(action, **args))
        assert result.success, result.error
        return result.output

    def fail(self, action, **args):
        result = self.run(self.execute(action, **args))
        assert not result.success, result.output
        return result.error

    def close(self):
        self.run(self.tool.end_turn(self.turn))
        self._loop.close()


@contextmanager
def driving(folder, **settings):
    driver = Driver(folder, **settings)
    try:
        yield driver
    finally:
        driver.close()


@pytest.fixture
def driver(tmp_path):
    with driving(tmp_path) as found:
        yield found


def test_a_form_is_filled_in_and_sent(driver, pages, tmp_path):
    assert driver.do("open", url=pages.url()) == (
        f"Opened {pages.url()}, titled 'Order' (HTTP 200)")
    tree = driver.do("snapshot")
    mark = tree.partition('textbox "Name" [ref=')[2].partition("]")[0]
    assert 'heading "Tea"' in tree
    assert driver.do("wait", selector="text=It is ready")
    assert driver.do("is_visible", selector="text=It is ready") == "true"
    assert driver.do("is_visible", selector="text=Coffee") == "false"
    assert driver.do("get_title") == "Order"
    assert driver.do("get_text", selector="h1") == "Tea"
    assert driver.do("find", by="role", value="button") == (
        "Found 1\n1. Send")
    driver.do("fill", selector=mark, value="Mi")
    driver.do("press", selector="[name=n]", value="End")
    driver.do("type", selector="[name=n]", value="na ü")
    driver.do("hover", selector="text=Send")
    driver.do("scroll")
    driver.do("screenshot", value="shots/page.png")
    driver.do("click", selector='role=button[name="Send"]')

    assert driver.do("get_url") == pages.url("/order?n=Mina+%C3%BC")
    assert (tmp_path / "shots/page.png").read_bytes()[:4] == b"\x89PNG"
    assert driver.turn.labels == {"web"}


def test_what_is_not_there_is_told_with_the_next_step(driver, pages):
    driver.do("open", url=pages.url())
    assert "action=snapshot" in driver.fail("click", selector="#nothing")
    assert driver.fail("click", selector="a[[")
    assert "needs 'selector'" in driver.fail("click")
    assert ".png" in driver.fail("screenshot", value="AGENTS.md")
    assert driver.do("get_title") == "Order"


def test_the_end_of_a_turn_leaves_no_process(tmp_path, pages):
    before = list_processes()
    with driving(tmp_path) as driver:
        driver.do("open", url=pages.url())
        assert len(list_processes()) > len(before)
    assert wait_for_end(before) == {}


def test_close_leaves_no_process(driver, pages):
    before = list_processes()
    driver.do("open", url=pages.url())
    driver.do("close")

    assert wait_for_end(before) == {}
    assert "no page is open" in driver.fail("snapshot")


@pytest.mark.parametrize("after_s", [0.05, 0.7, 2.0, 6.0])
def test_a_cancelled_call_leaves_no_process(driver, pages, after_s):
    """Before it starts, while it starts, and while a page keeps it."""
    before = list_processes()
    pages.pages["/slow"] = Reply(ending="silence")

    async def cancel():
        call = asyncio.ensure_future(
            driver.execute("open", url=pages.url("/slow")))
        await asyncio.wait([call], timeout=after_s)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    driver.run(cancel())

    assert wait_for_end(before) == {}


def test_a_killed_claw_leaves_no_process(tmp_path, pages):
    before = list_processes()
    script = tmp_path / "drive.py"
    script.write_text(f"""
import sys, time
sys.path[:0] = {sys.path!r}
from tests.peers.test_browser import Driver
from pathlib import Path
driver = Driver(Path({str(tmp_path)!r}))
print(driver.do("open", url={pages.url()!r}), flush=True)
time.sleep(60)
""")
    root = Path(__file__).parents[2]
    child = subprocess.Popen([sys.executable, str(script)],
                             stdout=subprocess.PIPE, text=True, cwd=root,
                             env={**os.environ, "PYTHONPATH": str(root)})
    try:
        assert child.stdout.readline().startswith("Opened")
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(10)
        child.stdout.close()

    assert wait_for_end(before) == {}


def test_a_crashed_browser_is_started_again(driver, pages):
    before = list_processes()
    driver.do("open", url=pages.url())
    for pid in set(list_processes()) - set(before):
        if "driver" not in list_processes().get(pid, "driver"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    time.sleep(0.5)

    assert driver.fail("get_title")
    assert driver.do("open", url=pages.url()).startswith("Opened")


@pytest.mark.parametrize("url", [
    "file:///etc/passwd", "chrome://version", "javascript:alert(1)",
    "data:text/html,x", "http://localhost:{port}/", "http://[::1]:{port}/",
    "http://10.0.0.1/", "http://169.254.169.254/", "http://2130706433/",
    "http://0x7f.1:{port}/", "http://user@127.0.0.1:{port}/",
    "view-source:http://127.0.0.1:{port}/", "https://example.com/"])
def test_an_address_that_is_not_allowed_starts_no_browser(driver, pages, url):
    before = list_processes()
    driver.fail("open", url=url.format(port=pages.server.port))

    assert set(list_processes()) <= set(before)
    assert pages.asked == []


@contextmanager
def inside():
    """A server of the network inside, that nothing may reach."""
    found = []
    server = HttpServer(lambda request: found.append(request.target)
                        or Reply(200, b"SECRET", "text/html"))
    server.start("127.0.0.2")
    try:
        yield f"127.0.0.2:{server.port}", found
    finally:
        server.stop()


PARTS = """<img src="http://{0}/img"><script src="http://{0}/js"></script>
<link rel="stylesheet" href="http://{0}/css"><iframe src="http://{0}/frame">
</iframe><iframe src="file:///etc/passwd"></iframe>
<link rel="prefetch" href="http://{0}/pre"><link rel="preconnect"
href="http://{0}"><img src="/to-inside">
<script>fetch("http://{0}/fetch"); fetch("/to-inside");
new WebSocket("ws://{0}/ws"); navigator.sendBeacon("http://{0}/beacon", "x");
new EventSource("http://{0}/events"); new Worker("/worker.js");
new Image().src = "http://inside.test:{1}/rebound";
open("http://{0}/window");</script>"""


def test_no_part_of_a_page_reaches_inside(driver, pages):
    """Parts, scripts, sockets, workers, windows, and what redirects to
    where none of them may go."""
    with inside() as (there, reached):
        port = there.partition(":")[2]
        pages.pages |= {
            "/parts": PARTS.format(there, port),
            "/to-inside": Reply(302, headers=(
                ("Location", f"http://{there}/redirected"),)),
            "/worker.js": Reply(200, f'fetch("http://{there}/worker")'
                                .encode(), "text/javascript")}
        driver.do("open", url=pages.url("/parts"))
        driver.do("wait", milliseconds=1500)

        assert reached == []
        assert "/to-inside" in pages.asked
        assert "/worker.js" in pages.asked


@pytest.mark.parametrize("way", [
    "redirect", "script", "refresh", "form", "link"])
def test_a_page_that_leads_inside_is_left(driver, pages, way):
    with inside() as (there, reached):
        to = f"http://{there}/"
        pages.pages["/away"] = {
            "redirect": Reply(302, headers=(("Location", to),)),
            "script": f"<script>location = '{to}'</script>",
            "refresh": f"<meta http-equiv=refresh content='0;url={to}'>",
            "form": f"<form action='{to}'></form><script>"
                    "document.forms[0].submit()</script>",
            "link": f"<a href='{to}'>go</a><script>"
                    "document.querySelector('a').click()</script>"}[way]
        driver.do("open", url=pages.url())
        driver.run(driver.execute("click", selector="text=Away"))
        driver.run(driver.execute("wait", milliseconds=500))
        text = driver.run(driver.execute("get_text"))

        assert reached == []
        assert "SECRET" not in text.output


def test_a_window_that_opens_is_the_page(driver, pages):
    pages.pages["/"] = '<a href="/other" target="_blank">New</a>'
    pages.pages["/other"] = "<title>Other</title>"
    driver.do("open", url=pages.url())
    driver.do("click", selector="text=New")
    driver.do("wait", milliseconds=1500)
    assert driver.do("get_title") == "Other"


def test_a_host_that_is_not_allowed_is_no_page(driver, pages):
    """127.0.0.1 is allowed; localhost, which is the same machine, not."""
    pages.pages["/away"] = Reply(302, headers=(
        ("Location", pages.url("/secret", "localhost")),))
    driver.do("open", url=pages.url())
    driver.run(driver.execute("click", selector="text=Away"))
    driver.fail("get_text")

    assert "/secret" not in pages.asked


def test_two_turns_have_a_browser_each(tmp_path, pages):
    with driving(tmp_path) as driver:
        driver.do("open", url=pages.url())
        driver.turn = TurnContext("agent")
        assert "no page is open" in driver.fail("get_title")
        driver.do("open", url=pages.url("/other"))
        other, driver.turn = driver.turn, TurnContext("agent")
        driver.run(driver.tool.end_turn(other))
        for key in list(driver.tool._sessions):
            driver.run(driver.tool._close(key))


def test_looking_runs_unasked_and_acting_asks():
    settings = AutonomySettings()
    tool = Browser(ToolDeps(Path("/"), None))

    assert tool.only_reads({"action": "snapshot"})
    assert not tool.only_reads({"action": "click"})
    assert not tool.only_reads({"action": "open"})
    assert needs_approval("browser", settings, interactive=True)
