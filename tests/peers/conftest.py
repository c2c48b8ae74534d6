"""Start the real servers of install.sh, or skip with a reason; run
`claw ask` against them."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PEERS = Path(os.environ.get("CLAW_PEERS_DIR",
                            Path.home() / ".cache" / "claw-peers"))
INSTALL = f"run {HERE / 'install.sh'}"
REQUIRED = os.environ.get("CLAW_PEERS_REQUIRED", "0") not in ("", "0")
MAY_SKIP = {line.split()[0] for line in (HERE / "may_skip.txt")
            .read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith("#")}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Where the real servers are required, a skip that may_skip.txt does
    not name is a failure."""
    return _required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The same for a file that skips as a whole."""
    return _required((yield))


def _required(report):
    name = report.nodeid.partition("[")[0]
    if REQUIRED and report.skipped and name not in MAY_SKIP:
        _, _, reason = report.longrepr
        report.outcome = "failed"
        report.longrepr = f"not in may_skip.txt, but skipped: {reason}"
    return report


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def only_chromium():
    """No other file's browser runs, in this run or another: tests list the
    machine's Chromiums and kill those that they find."""
    path = Path(tempfile.gettempdir()) / f"claw-chromium-{os.getuid()}.lock"
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def mcp_peer():
    """mcp_peer("node_modules/..."): a path of an MCP server, or a skip."""
    def find(name):
        path = PEERS / name
        if not path.exists():
            pytest.skip(f"{path.name} is not installed; {INSTALL}")
        return str(path)
    return find


@contextmanager
def running(command, port, log, env=None, path="/v1/models"):
    """A server process that answers 200 at this path of its port."""
    with open(log, "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output,
                                   env={**os.environ, **(env or {})},
                                   cwd=Path(log).parent,
                                   start_new_session=True)
    try:
        _wait(process, f"http://127.0.0.1:{port}{path}", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _wait(process, url, log, limit_s=60):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:  # not there yet, or 503 while it loads
            if process.poll() is not None:
                break
            time.sleep(0.05)
    pytest.fail("the peer did not start: "
                + Path(log).read_text(errors="replace")[-2000:])


@pytest.fixture(scope="session")
def aimock():
    """aimock(folder, fixtures, *options, keys=()): a context giving its
    base URL; where there are `keys` it takes no others."""
    return _aimock


@pytest.fixture(scope="session")
def llama_cpp():
    """llama_cpp(folder, context=512): a context giving its base URL."""
    return _llama_cpp


@pytest.fixture(scope="session")
def llmock():
    """llmock(folder, *options): a context giving its base URL."""
    return _llmock


@pytest.fixture(scope="session")
def litellm():
    """litellm(folder, upstream, key): a context giving its base URL,
    without /v1; `upstream` ends in /v1."""
    return _litellm


@pytest.fixture(scope="session")
def mockpost():
    """mockpost(folder): a context giving the Bot API's base URL."""
    return _mockpost


@pytest.fixture(scope="session")
def telegram_test_api():
    """telegram_test_api(folder): a context giving the base URL."""
    return _telegram_test_api


@pytest.fixture(scope="session")
def emulate():
    """emulate(folder, seed): a context giving the base URL of its Slack."""
    return _emulate


@contextmanager
def _emulate(folder, seed):
    """emulate's Slack, on a node of its own: it needs 22."""
    modules = PEERS / "emulate" / "node_modules"
    node = modules / "node" / "bin" / "node"
    if not node.exists() or not (modules / "emulate").is_dir():
        pytest.skip(f"emulate is not installed ({INSTALL})")
    (folder / "seed.json").write_text(json.dumps(seed))  # which is YAML too
    port = free_port()
    with running([str(node), str(modules / "emulate" / "dist" / "index.js"),
                  "start", "--service", "slack", "--port", str(port),
                  "--seed", str(folder / "seed.json")], port,
                 folder / "emulate.log", path="/") as url:
        yield url.removesuffix("/v1") + "/api"


@contextmanager
def _mockpost(folder):
    """mockpost, everything but its HTTP side on ports of no interest."""
    packages = PEERS / "mockpost"
    if not (packages / "mockpost").is_dir():
        pytest.skip(f"mockpost is not installed ({INSTALL})")
    port = free_port()
    env = {f"MOCKPOST_{name}_PORT": str(free_port()) for name in (
        "SMTP", "FTP", "FTPS", "FTPS_IMPLICIT", "SFTP")}
    env |= {"MOCKPOST_HTTP_PORT": str(port), "PYTHONPATH": str(packages),
            "MOCKPOST_URL": f"http://127.0.0.1:{port}",
            "MOCKPOST_DB_PATH": str(folder / "mockpost.db"),
            "HOME": str(folder)}
    with running([sys.executable, "-c",
                  "from mockpost.cli import main; main()"], port,
                 folder / "mockpost.log", env,
                 "/telegram/bot1:x/getMe") as url:
        yield url.removesuffix("/v1") + "/telegram"


@contextmanager
def _telegram_test_api(folder):
    """telegram-test-api."""
    package = PEERS / "node_modules" / "telegram-test-api"
    if not package.is_dir() or shutil.which("node") is None:
        pytest.skip(f"telegram-test-api is not installed ({INSTALL})")
    port = free_port()
    start = ("const Server = require(process.argv[1]); new Server({host: "
             "'127.0.0.1', port: Number(process.argv[2])}).start();")
    with running([shutil.which("node"), "-e", start, str(package),
                  str(port)], port, folder / "telegram-test-api.log",
                 path="/bot1:x/getMe") as url:
        yield url.removesuffix("/v1")


@contextmanager
def _aimock(folder, fixtures, *options, keys=()):
    """@copilotkit/aimock with these fixtures."""
    program = PEERS / "node_modules" / ".bin" / "llmock"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip(f"aimock is not installed ({INSTALL})")
    path = folder / "fixtures.json"
    path.write_text(json.dumps({"fixtures": fixtures}))
    port = free_port()
    with running([str(program), "-p", str(port), "-f", str(path),
                  "--log-level", "silent", *options], port,
                 folder / "aimock.log",
                 {"AIMOCK_API_KEYS": ",".join(keys)} if keys else None,
                 "/health") as url:
        yield url


@contextmanager
def _llmock(folder, *options):
    """llmock, which breaks on demand and judges its clients."""
    packages = PEERS / "llmock"
    if not (packages / "llmock").is_dir():
        pytest.skip(f"llmock is not installed ({INSTALL})")
    port = free_port()
    env = {"PYTHONPATH": str(packages), "HOME": str(folder)}
    with running([sys.executable, "-c", "from llmock.cli import app; app()",
                  "serve", "--host", "127.0.0.1", "--port", str(port),
                  "--log-level", "warning", *options], port,
                 folder / "llmock.log", env, "/health") as url:
        yield url


@contextmanager
def _litellm(folder, upstream, key):
    """A LiteLLM proxy: its model "m" is gpt-4o at `upstream`."""
    program = PEERS / "litellm" / "bin" / "litellm"
    if not program.exists():
        pytest.skip(f"litellm is not installed ({INSTALL})")
    config = folder / "litellm.yaml"
    config.write_text(json.dumps({  # which is YAML too
        "model_list": [{"model_name": "m", "litellm_params": {
            "model": "openai/gpt-4o", "api_base": upstream,
            "api_key": "sk-upstream"}}],
        "router_settings": {"num_retries": 0},
        "general_settings": {"master_key": key}}))
    port = free_port()
    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HOME": str(folder),
           # keys of a test are weak to its mind
           "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
    with running([str(program), "--config", str(config), "--port", str(port),
                  "--host", "127.0.0.1"], port, folder / "litellm.log", env,
                 "/health/liveliness") as url:
        yield url.removesuffix("/v1")


@contextmanager
def _llama_cpp(folder, context=512):
    """llama.cpp with a random model."""
    packages = PEERS / "python"
    if not (packages / "xllamacpp").is_dir():
        pytest.skip(f"xllamacpp is not installed ({INSTALL})")
    env = {"PYTHONPATH": str(packages)}
    model = folder / "tiny.gguf"
    made = subprocess.run(
        [sys.executable, str(HERE / "tiny_gguf.py"), str(model)],
        env={**os.environ, **env}, capture_output=True, check=False)
    if made.returncode:
        pytest.skip("gguf does not work here: "
                    + made.stderr.decode(errors="replace")[-300:])
    port = free_port()
    with running([sys.executable, str(HERE / "serve_gguf.py"), str(model),
                  str(port), str(context)], port, folder / "llama.log",
                 env) as url:
        yield url


@pytest.fixture
def asks_at(tmp_path):
    """asks_at(url, model): `claw ask` as a person runs it."""
    return lambda url, model: Asks(tmp_path, url, model)


class Asks:
    """One home and one server. `ask` gives (exit code, stdout, stderr)."""

    def __init__(self, folder, url, model):
        self.folder = folder
        self.workspace = folder / "home" / "workspace"
        self._url = url
        self._model = model

    def ask(self, *arguments, stdin=None, **settings):
        """`settings` are settings of claw, as CLAW_<NAME>."""
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder),
            "CLAW_HOME": str(self.folder / "home"), "CLAW_NO_PROBE": "1",
            "PYTHONWARNINGS": "error", "CLAW_API_KEY": "sk-canary",
            **{f"CLAW_{name}": value for name, value in settings.items()}}
        done = subprocess.run(
            [sys.executable, "-m", "claw", "ask", "-p",
             f"custom:{self._url}", "-m", self._model, *arguments],
            input=stdin, env=environment, capture_output=True, timeout=120,
            stdin=subprocess.DEVNULL if stdin is None else None, text=True,
            encoding="utf-8", cwd=self.folder, check=False)
        assert "sk-canary" not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    def answer(self, *arguments, **settings):
        """The --json document of a question that is answered."""
        code, out, err = self.ask("--json", *arguments, **settings)
        assert code == 0, err
        return json.loads(out)
