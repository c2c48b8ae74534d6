"""The page of the gateway in a real Chromium, as its owner uses it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from claw.core.errors import MissingPartError
from claw.testing.fake_openai import FakeOpenAI, Reply, tool_call
from claw.tools.web.browser.session import find_program

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
INSTALL = f"run {HERE / 'install.sh'}"
VIEWS = ("chat", "status", "memory", "spending", "turns")
HOSTILE = "\x1b[31mred\u202eevil <img src=x onerror=alert(1)>"
MARKDOWN = """# Plan
You have **two** days, [Tom](https://example.org/tom)
[bad](javascript:alert(1))
1. fly
   - rest

| day | what |
|---|---|
| 1 | fly |

```html
<b>x</b> **y**
```
> <img src=x onerror=alert(1)>
"""

pytestmark = [pytest.mark.peers, pytest.mark.slow]


@pytest.fixture(scope="module")
def chromium(only_chromium):
    """A headless browser."""
    sys.path.append(str(PEERS / "playwright"))
    try:
        playwright = pytest.importorskip(
            "playwright.sync_api", reason=f"no playwright ({INSTALL})")
        try:
            program = find_program(None)
        except MissingPartError:
            pytest.skip(f"no Chromium ({INSTALL})")
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=program,
                                             args=["--no-sandbox"])
            yield browser
            browser.close()
    finally:
        sys.path.remove(str(PEERS / "playwright"))


@pytest.fixture(scope="module")
def axe():
    """The script of axe-core."""
    path = PEERS / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        pytest.skip(f"no axe-core ({INSTALL})")
    return path.read_text("utf-8")


class Home:
    """A claw listen with its gateway, a model, and a channel whose server
    is not there."""

    def __init__(self, folder, model, port):
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder),
            "CLAW_HOME": str(folder / "home"), "CLAW_NO_PROBE": "1"}
        (folder / "home").mkdir()
        (folder / "home" / "config.toml").write_text(
            f'default_provider = "custom:{model.url}"\n'
            'default_model = "m"\n'
            f'[gateway]\nenabled = true\nport = {port}\n'
            "[channels_config.telegram]\nbot_token = '1:x'\n"
            "api_base_url = 'http://127.0.0.1:9'\nallowed_users = ['me']\n")

    def claw(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "claw", *arguments], check=True,
            env=self._environment, capture_output=True, text=True,
            timeout=60, stdin=subprocess.DEVNULL).stdout.strip()

    @contextmanager
    def listening(self):
        with open(self.folder / "listen.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "claw", "listen"], stdout=log,
                stderr=log, env=self._environment)
        self.process = process
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


class Visitor:
    """A page that must not complain, nor ask another host."""

    def __init__(self, browser, url, width, scheme):
        self.url = url
        self.context = browser.new_context(
            color_scheme=scheme, has_touch=width < 500, viewport={
                "width": width, "height": 844 if width < 500 else 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.complaints = []
        self.foreign = []
        self.page.on("console", lambda message: message.type in (
            "error", "warning") and self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(
            str(error)))
        self.page.on("request", lambda request: urlsplit(
            request.url).netloc != urlsplit(url).netloc
            and self.foreign.append(request.url))

    def go(self, view):
        self.page.click(f'nav a[href="#{view}"]')
        self.page.wait_for_selector("#heading")

    def check(self, axe, name):
        """Nothing serious to axe, nothing wider than the screen."""
        found = self.page.evaluate(axe + "; axe.run()")
        serious = [(one["id"], [node["html"] for node in one["nodes"]])
                   for one in found["violations"]
                   if one["impact"] in ("serious", "critical")]
        assert serious == [], name
        assert self.page.evaluate(
            "document.documentElement.scrollWidth <= innerWidth"), name


def wait_for_gateway(home, process):
    end = time.monotonic() + 30
    import urllib.request
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(home.url, timeout=2):
            return
        time.sleep(0.1)
    pytest.fail((home.folder / "listen.log").read_text())


def answer(body):
    """Write a file when told to, and stream otherwise."""
    said = json.dumps(body["messages"][-1])
    if "write" in said and '"tool"' not in said:
        return tool_call("file_write", path="note.txt", content="hello")
    if "markdown" in said:
        return Reply(MARKDOWN)
    return Reply("It is a long answer that comes in pieces. " * 5)


@pytest.fixture
def home(tmp_path):
    from tests.peers.conftest import free_port
    with FakeOpenAI(replies=[answer]) as model:
        made = Home(tmp_path, model, free_port())
        for key, text in (("colour", "Mina likes green"),
                          ("basel", "I live in Basel"),
                          ("porto", "I live in Porto"),
                          ("evil", HOSTILE)):
            made.claw("memory", "store", key, text)
        with made.listening() as process:
            wait_for_gateway(made, process)
            yield made


def sign_in(visitor, home):
    link = home.claw("gateway", "link", "-q")
    visitor.page.goto(link)
    visitor.page.wait_for_selector("#message")
    assert "code=" not in visitor.page.url


@pytest.mark.parametrize(("width", "scheme"), [
    (390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def test_the_owner_uses_every_view(chromium, axe, home, width, scheme):
    visitor = Visitor(chromium, home.url, width, scheme)
    page = visitor.page
    sign_in(visitor, home)

    page.fill("#message", "Good day")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.claw >> text=Why")
    assert "comes in pieces" in page.inner_text("article.claw")

    page.fill("#message", "please write the note")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alertdialog]")
    assert "note.txt" in page.inner_text("[role=alertdialog]")
    visitor.check(axe, "approval")
    shoot(page, "approval", width, scheme)
    page.click("[role=alertdialog] >> text=Yes")
    page.wait_for_selector("article.claw:nth-of-type(4) >> text=Why")
    assert (home.folder / "home/workspace/note.txt").exists()
    visitor.check(axe, "chat")
    shoot(page, "chat", width, scheme)

    visitor.go("status")
    page.wait_for_selector("text=telegram traffic")
    page.click("text=Ask the doctor")
    page.wait_for_selector("text=What the doctor says")
    page.wait_for_selector(".mark.fail + :text('telegram tcp')")
    visitor.check(axe, "status")
    shoot(page, "status", width, scheme)

    visitor.go("memory")
    page.fill("#query", "which colour does Mina like?")
    page.keyboard.press("Enter")
    page.wait_for_selector("li:first-child >> text=Why this")
    page.click("li:first-child >> text=Why this")
    assert "confidence" in page.inner_text("li:first-child details[open]")
    page.click("li:first-child >> text=Forget")
    page.wait_for_selector("text=Forgotten: colour")
    page.click("text=Undo")
    page.wait_for_selector("text=Taken back: colour")
    page.click("text=Look for conflicts")
    page.wait_for_selector(".pair")
    page.click(".pair >> text=Keep this >> nth=0")
    page.wait_for_selector("text=No memories contradict each other.")
    visitor.check(axe, "memory")
    shoot(page, "memory", width, scheme)

    visitor.go("spending")
    page.wait_for_selector("svg.plot")
    page.select_option("#choose-measure", "calls")
    assert page.locator("svg.plot rect").count() > 0
    visitor.check(axe, "spending")
    shoot(page, "spending", width, scheme)

    visitor.go("turns")
    page.click("text=Good day")
    page.wait_for_selector("text=Question")
    visitor.check(axe, "turn")
    shoot(page, "turn", width, scheme)

    page.click("#sign-out")
    page.wait_for_selector("#sign-in")
    visitor.check(axe, "sign-in")
    assert visitor.complaints == []
    assert visitor.foreign == []


def shoot(page, view, width, scheme):
    """A picture for a person, where one asks for it."""
    folder = os.environ.get("CLAW_PICTURES")
    if folder:
        page.screenshot(path=f"{folder}/{view}-{width}-{scheme}.png")


def test_a_wrong_code_is_refused_and_a_right_one_signs_in(chromium, home):
    visitor = Visitor(chromium, home.url, 390, "light")
    page = visitor.page
    page.goto(home.url)
    page.fill("#code", "ÄBCD-EFGH")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trouble:visible")
    assert "the pairing code is wrong" in page.inner_text("#trouble")

    page.fill("#code", home.claw("gateway", "pair", "--sees", "owner"))
    page.keyboard.press("Enter")
    page.wait_for_selector("#message")

    page.reload()
    page.wait_for_selector("#message")
    assert visitor.foreign == []


def test_the_conversation_is_there_when_claw_is_back(chromium, home):
    visitor = Visitor(chromium, home.url, 390, "light")
    sign_in(visitor, home)
    page = visitor.page
    page.fill("#message", "Good day")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.claw >> text=Why")

    home.process.kill()
    home.process.wait()
    page.wait_for_selector("text=claw does not answer")
    with home.listening() as process:
        wait_for_gateway(home, process)
        page.wait_for_selector("#trouble", state="hidden")
        assert "comes in pieces" in page.inner_text("article.claw")
        page.fill("#message", "And now?")
        page.keyboard.press("Enter")
        page.wait_for_selector("article.claw >> text=Why")


def is_at_the_end(page):
    return page.evaluate("""() => {
      const page = document.scrollingElement;
      return page.scrollHeight - page.scrollTop - page.clientHeight < 5;
    }""")


def test_an_answer_is_markdown_and_no_html(chromium, home):
    visitor = Visitor(chromium, home.url, 390, "light")
    sign_in(visitor, home)
    page = visitor.page
    page.set_viewport_size({"width": 390, "height": 400})
    page.fill("#message", "in markdown")
    page.keyboard.press("Enter")
    page.wait_for_selector("article.claw >> text=Why")
    assert is_at_the_end(page)

    for _ in range(2):  # as it was said, and as it is kept
        shown = page.locator("article.claw .rich")
        assert shown.locator("strong").all_inner_texts() == ["Plan", "two"]
        assert shown.locator("li").all_inner_texts() == ["1. fly", "• rest"]
        assert shown.locator("pre code").inner_text() == "<b>x</b> **y**"
        assert shown.locator("td").all_inner_texts() == ["1", "fly"]
        assert [link.get_attribute("href")
                for link in shown.locator("a").all()] == [
                    "https://example.org/tom"]
        assert "[bad](javascript:alert(1))" in shown.inner_text()
        assert shown.locator("img").count() == 0
        page.reload()
        page.wait_for_selector("article.claw .rich")
        assert is_at_the_end(page)
    assert visitor.complaints == []
    assert visitor.foreign == []


def test_a_long_answer_of_signs_does_not_hold_the_page_up(chromium, home):
    visitor = Visitor(chromium, home.url, 390, "light")
    sign_in(visitor, home)

    took = visitor.page.evaluate("""async () => {
      const { render } = await import("/page/markdown.js");
      const began = performance.now();
      for (const sign of ["*", "`", "[", "[a](http://", "http://", "|", ">",
                          "**a", "- ", "# ", " "]) {
        render(sign.repeat(100000));
        render((sign + "\\n").repeat(10000));
      }
      return performance.now() - began;
    }""")

    assert took < 3000


def test_hostile_text_is_text(chromium, home):
    visitor = Visitor(chromium, home.url, 1280, "light")
    sign_in(visitor, home)

    visitor.go("memory")
    visitor.page.wait_for_selector("text=evil")
    shown = visitor.page.inner_text("main")

    assert "\\u001b[31mred\\u202eevil <img src=x onerror=alert(1)>" in shown
    assert visitor.page.locator("main img").count() == 0
    assert visitor.complaints == []


def test_the_page_is_used_by_keyboard_alone(chromium, home):
    visitor = Visitor(chromium, home.url, 1280, "light")
    sign_in(visitor, home)
    page = visitor.page

    page.keyboard.press("Tab")
    reached = []
    for _ in range(12):
        reached.append(page.evaluate(
            "document.activeElement.textContent.trim() || "
            "document.activeElement.id"))
        page.keyboard.press("Tab")

    for name in ("Chat", "Status", "Memory", "Spending", "Turns",
                 "Sign out", "message", "Send", "New conversation"):
        assert any(name.lower() in one.lower() for one in reached), reached


def test_a_revoked_key_leads_back_to_signing_in(chromium, home):
    visitor = Visitor(chromium, home.url, 390, "light")
    sign_in(visitor, home)
    home.claw("gateway", "token", "revoke", "browser")

    visitor.page.click('nav a[href="#status"]')
    visitor.page.wait_for_selector("#sign-in:visible")

    assert all(re.search("401", one) for one in visitor.complaints)
