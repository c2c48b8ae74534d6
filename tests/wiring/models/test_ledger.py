"""Settings -> the ledger: what stands around a provider and what it tells."""

import asyncio
import os
import re
import subprocess
import sys
from contextlib import closing

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.errors import BudgetError, ConfigError
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    TokenUsage,
)
from claw.core.turn import TurnContext, current_turn
from claw.core.value import replace
from claw.providers.catalog.lookup import custom
from claw.providers.catalog.vendors import Vendor, find_vendor
from claw.providers.offline import OfflineProvider
from claw.storage.ledger_reader import open_reader
from claw.testing.scripted import ScriptedProvider
from claw.wiring.models.ledger import (
    ledger_path,
    open_ledger,
    read_cost_settings,
    read_daily_cents,
)

ASKED = ChatRequest([ChatMessage.user("hello")], max_tokens=100)
ANSWER = ChatResponse("hi", usage=TokenUsage(1_000_000, 0))


def tree_of(tmp_path, toml="", env=None):
    (tmp_path / "config.toml").write_text(toml)
    return load(locate(str(tmp_path)), env or {})


def ask(ledger, vendor, model="gpt-5", turn=None):
    async def work():
        if turn is not None:
            current_turn.set(turn)
        provider = ledger.meter(ScriptedProvider([ANSWER]), vendor)
        return await provider.chat(ASKED, model, 0.5)
    return asyncio.run(work())


def calls(tree):
    with open_reader(ledger_path(tree.places)) as reader:
        return reader.calls("0000", "9999", 10)


def test_a_cloud_call_is_paid_and_a_local_one_is_not(tmp_path):
    tree = tree_of(tmp_path)
    with closing(open_ledger(tree, print)) as ledger:
        ask(ledger, find_vendor("openai"))
        ask(ledger, find_vendor("ollama"))
        ask(ledger, custom("http://127.0.0.1:9/v1"))
        ask(ledger, custom("https://models.example/v1?key=sk-canary-123456"))

    assert [(c.provider, c.end.cost_usd) for c in reversed(calls(tree))] == [
        ("openai", 1.25), ("ollama", 0.0),
        ("custom:http://127.0.0.1:9/v1", 0.0),
        ("custom:https://models.example/v1?…", 1.25)]
    for file in ledger_path(tree.places).parent.iterdir():
        assert b"canary" not in file.read_bytes()


def test_nothing_is_made_before_a_call_and_nothing_for_no_model(tmp_path):
    tree = tree_of(tmp_path)
    offline = OfflineProvider()
    with closing(open_ledger(tree, print)) as ledger:
        assert ledger.meter(offline, find_vendor("offline")) is offline
        ledger.meter(ScriptedProvider(), find_vendor("openai"))
        assert ledger.turn_cost("t") == 0.0

    assert not ledger_path(tree.places).parent.exists()


def test_the_settings_limit_and_price(tmp_path):
    tree = tree_of(tmp_path, """
[cost]
daily_limit_usd = 4
[cost.prices."house/model-1"]
input = 4
output = 1
""")
    with closing(open_ledger(tree, print)) as ledger:
        vendor = Vendor("mine", "Mine", "https://models.example/v1")
        ask(ledger, vendor, "house/model-1")
        with pytest.raises(BudgetError, match=r"\$4.00 of \$4.00 daily"):
            ask(ledger, vendor, "house/model-1")


@pytest.mark.parametrize(("dollars", "cents", "stops"), [
    (1.2, 500, r"\$1.20 daily .*cost.daily_limit_usd 2.4"),
    (10, 120, r"\$1.20 daily .*autonomy.max_cost_per_day_cents 240"),
    (0, 120, r"\$1.20 daily .*autonomy.max_cost_per_day_cents 240"),
    (1.2, 0, r"\$1.20 daily .*cost.daily_limit_usd 2.4"),
    (0, 0, None),
])
def test_the_lower_of_two_daily_limits_counts(tmp_path, dollars, cents,
                                              stops):
    tree = tree_of(tmp_path, f"[cost]\ndaily_limit_usd = {dollars}\n"
                             f"[autonomy]\nmax_cost_per_day_cents = {cents}")
    with closing(open_ledger(tree, print)) as ledger:
        ask(ledger, find_vendor("openai"))
        if stops is None:
            ask(ledger, find_vendor("openai"))
            return
        with pytest.raises(BudgetError) as caught:
            ask(ledger, find_vendor("openai"))
        assert re.search(stops, f"{caught.value} {caught.value.hint}")


def test_no_cents_are_a_limit_where_none_are_set(tmp_path):
    tree = tree_of(tmp_path, "[autonomy]\nlevel = \"full\"\n")

    assert read_daily_cents(tree) == 0
    with pytest.raises(ConfigError, match="max_cost_per_day_cents"):
        open_ledger(tree_of(tmp_path, "[autonomy]\n"
                                  "max_cost_per_day_cents = -1\n"), print)


def test_a_variable_sets_a_limit(tmp_path):
    tree = tree_of(tmp_path, env={"CLAW_COST__PER_CALL_LIMIT_USD": "0.0001"})

    assert read_cost_settings(tree).per_call_limit_usd == 0.0001
    with closing(open_ledger(tree, print)) as ledger, \
            pytest.raises(BudgetError, match="per-call"):
        ask(ledger, find_vendor("openai"))


@pytest.mark.parametrize(("toml", "refused"), [
    ("", False), ("[cost]\ndaily_limit_usd = 0\n", False),
    ("[cost]\nenabled = false\nmonthly_limit_usd = 5\n", False),
    ("[cost]\ndaily_limit_usd = 5\n", True),
    ("[cost]\nmonthly_limit_usd = 5\n", True),
    ("[cost]\nper_call_limit_usd = 5\n", True),
    ("[autonomy]\nmax_cost_per_day_cents = 500\n", True),
    ("[cost]\ndaily_limit_usd = 5\n[cost.prices.odd]\ninput = 1\n", True),
    ("[cost]\ndaily_limit_usd = 5\n"
     "[cost.prices.odd]\ninput = 1\noutput = 2\n", False)])
def test_under_a_limit_of_the_owner_a_model_without_a_price_is_not_called(
        tmp_path, toml, refused):
    tree = tree_of(tmp_path, toml)
    with closing(open_ledger(tree, print)) as ledger:
        if refused:
            with pytest.raises(ConfigError, match="price of odd"):
                ask(ledger, find_vendor("openai"), "odd")
        else:
            ask(ledger, find_vendor("openai"), "odd")


def test_a_wrong_limit_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="daily_limit_usd"):
        open_ledger(tree_of(tmp_path, "[cost]\ndaily_limit_usd = -1\n"), print)


def test_the_cost_of_a_turn_and_of_a_session(tmp_path):
    turn = TurnContext("channel", session_id="telegram_7")
    with closing(open_ledger(tree_of(tmp_path), print)) as ledger:
        ask(ledger, find_vendor("openai"), turn=turn)
        ask(ledger, find_vendor("openai"), turn=turn)
        assert ledger.turn_cost(turn.turn_id) == pytest.approx(2.5)
        today, month = ledger.session_cost("telegram_7")
        assert today == month
        assert month.cost_usd == pytest.approx(2.5)

        ask(ledger, find_vendor("openai"), "odd", turn)
        assert ledger.turn_cost(turn.turn_id) is None
        assert ledger.session_cost("telegram_7")[0].unpriced == 1


def test_what_can_not_be_read_has_no_cost(tmp_path):
    tree = tree_of(tmp_path)
    ledger_path(tree.places).parent.mkdir(parents=True)
    ledger_path(tree.places).write_bytes(b"no database " * 100)
    with closing(open_ledger(tree, print)) as ledger:
        assert ledger.turn_cost("t") is None
        assert ledger.session_cost("s") is None


def test_warnings_are_said_once_for_all_providers(tmp_path):
    said = []
    with closing(open_ledger(tree_of(tmp_path), said.append)) as ledger:
        vendor = replace(find_vendor("openai"), name="mine")
        for _ in range(2):
            ask(ledger, vendor, "odd")

    assert len(said) == 1


LOOKING = """
import sys
import claw.cli.commands.cost
print(sorted({"httpx", "asyncio", "rich", "openai", "numpy", "logging"}
             & set(sys.modules)))
"""


def test_looking_at_costs_loads_neither_network_nor_loop():
    done = subprocess.run([sys.executable, "-c", LOOKING],
                          env={"PATH": os.environ["PATH"]},
                          capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
