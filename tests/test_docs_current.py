"""Man pages, completions and the tables of docs/ are what the code says."""

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from claw.cli.app import COMMANDS, GROUPS
from claw.cli.docs.catalog import catalog
from claw.cli.docs.manual import settings_table
from claw.cli.docs.write import find_stale
from claw.config.describe import meanings
from claw.config.keys import is_secret, split_key
from claw.core.registry import load_dotted
from claw.wiring.config.view import manual

ROOT = Path(__file__).resolve().parents[1]


def test_generated_files_are_current():
    assert find_stale(ROOT) == [], "run: python -m claw.cli.docs"


def test_no_line_puts_a_secret_where_others_see_it():
    """Arguments stand in the list of processes; what is read or asked for
    does not."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"),
             *(ROOT / "man").glob("*.1"), *(ROOT / "claw").rglob("*.py")]
    lines = [match for page in pages for match in re.findall(
        r"config set ([\w.<>{}]+) +(?![a-z]+\b)([^\s`'\"#<;]+)",
        page.read_text("utf-8"))]

    assert len(lines) > 50
    assert [line for line in lines if is_secret(split_key(line[0]))] == []


@pytest.mark.each("name", COMMANDS)
def test_table_line_is_the_first_line_of_the_docstring(name):
    line, path = COMMANDS[name]

    assert load_dotted(path).__doc__.split("\n")[0] == line


def test_every_command_shows_an_example():
    silent = [c.full_name for c in catalog() if not c.examples]

    assert silent == []


def test_a_meaning_goes_on_over_deeper_lines():
    class Own(msgspec.Struct):
        """[own]

        first: one line
          and more
        second: two
        """

        first: str = ""
        second: str = ""

    assert meanings(Own) == {"first": "one line and more", "second": "two"}


def test_a_struct_has_the_meanings_of_what_it_is_made_of():
    class Shared(msgspec.Struct):
        """first: one

        second: two
        """

        first: str = ""
        second: str = ""

    class Own(Shared):
        """second: another"""

    assert meanings(Own) == {"first": "one", "second": "another"}


def test_a_long_text_is_shown_and_a_long_list_counted():
    table = settings_table()

    assert '`"https://api.groq.com/openai/v1/audio/transcriptions"`' in table
    assert re.search(r"allowed_commands` \| \d+ entries", table)


def test_every_group_has_commands():
    assert {name.split()[0] for name in COMMANDS if " " in name} \
        == set(GROUPS)


def test_every_option_has_help():
    silent = [(c.full_name, o.names) for c in catalog()
              for o in c.options if not o.help]

    assert silent == []


def test_every_setting_with_an_effect_has_a_meaning():
    settings = manual()

    assert [s.key for s in settings if not s.meaning] == []
    assert len(settings) > 40


def test_the_readme_leaves_settings_without_effect_out():
    keys = {s.key for s in manual()}

    assert "memory.backend" in keys
    assert "model_providers.<name>.base_url" in keys
    assert not keys & {"memory.rerank_enabled", "memory.qdrant.url",
                       "agent.eval.enabled"}


@pytest.mark.each("path", sorted((ROOT / "man").glob("*.1")),
                         ids=lambda p: p.name)
def test_man_page_has_no_date_and_names_itself(path):
    text = path.read_text(encoding="utf-8")

    title = text.partition("\n")[0]
    assert path.stem.upper() in title
    assert not re.search(r"\d\d", title)


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@pytest.mark.parametrize(("line", "expected"), [
    (["claw", "mem"], "memory"),
    (["claw", "memory", "rec"], "recall"),
    (["claw", "memory", "recall", "--expl"], "--explain"),
    (["claw", "-q", "config", "se"], "set"),
    (["claw", "completion", "--verb"], "--verbose"),
])
def test_bash_completes(line, expected):
    words = " ".join(f"'{word}'" for word in line)
    done = subprocess.run(["bash", "-c", (
        f". {ROOT}/completions/claw.bash; COMP_WORDS=({words}); "
        f"COMP_LINE='{' '.join(line)}'; COMP_POINT=${{#COMP_LINE}}; "
        f"COMP_CWORD={len(line) - 1}; _claw; echo \"${{COMPREPLY[@]}}\"")],
        capture_output=True, text=True, check=True)

    assert expected in done.stdout.split()
