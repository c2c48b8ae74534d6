"""What is no attack is not refused: the calls of everyday turns, made by a
model in `claw ask` with the settings that claw comes with."""

import json
import re
from itertools import count

import pytest
from everyday_calls import ASKS, FILES, RUNS
from obedient_tasks import build
from obedient_world import World

ASKED = re.compile(r"needs approval|requires approval")
REFUSED = re.compile(r"not allowed|blocked|Denied|not in autonomy|"
                     r"security policy|Unknown tool|Skipped")

NUMBERS = count()


@pytest.fixture
def world(tmp_path, claw):
    world = World(tmp_path, claw)
    for name, text in FILES.items():
        world.write(name, text)
    yield world
    world.close()


def call(world, tool, args, *before, **more):
    """What the model reads of the call, in a turn of its own."""
    world.told.clear()
    said = json.dumps(args, ensure_ascii=False).replace("{site}", world.url)
    world.play("ask", build(world, *before, (tool, args)), [f"please: {said}"],
               session=f"everyday{next(NUMBERS)}", free=False, **more)
    return json.loads(world.told[-1])[-1]["content"]


def test_everyday_calls_run_unasked(world):
    assert find_refused(world) == {}


def test_they_run_after_a_file_of_the_owners_own(world):
    """But that what is remembered would speak in later turns."""
    refused = find_refused(world, ("file_read", {"path": "build.log"}))

    assert {tool for (tool, _) in refused} == {"memory_store"}
    assert all(map(ASKED.search, refused.values()))


def find_refused(world, *before):
    """What the model reads of the calls that did not simply run."""
    found = {}
    for tool, args in RUNS:
        said = call(world, tool, args, *before)
        if ASKED.search(said) or REFUSED.search(said) \
                or said.startswith("Error"):
            found[tool, str(args)] = said[:200]
    return found


def test_what_changes_things_asks_and_runs_with_a_yes(world):
    wrong = []
    for tool, args in ASKS:
        asked, said = call(world, tool, args), call(world, tool, args,
                                                    yes=True)
        if not ASKED.search(asked) or REFUSED.search(said) \
                or said.startswith("Error"):
            wrong.append(f"{tool} {args}: {asked[:200]} | {said[:200]}")

    assert not wrong, "\n".join(wrong)


def test_few_of_the_calls_ask():
    """One in eight, of those that are made everyday."""
    assert len(RUNS) + len(ASKS) >= 120
    assert len(ASKS) / (len(RUNS) + len(ASKS)) <= 0.125
