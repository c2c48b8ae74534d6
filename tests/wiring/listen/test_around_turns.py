"""What stands around a channel's turn: who speaks, and who does not."""

import pytest

from claw.wiring.listen.around_turns import build_synthesizer

LOUD = '[tts]\nenabled = true\ndefault_provider = "command"\n'


@pytest.fixture
def log():
    events = []

    def write(event, **fields):
        events.append((event, fields))
    write.events = events
    return write


def test_a_speaker_is_built_where_one_is_asked_for(write_settings, log):
    tree = write_settings(LOUD + 'command = ["cat", "{file}"]\n')
    assert build_synthesizer(tree, log, {}) is not None
    assert build_synthesizer(write_settings(), log, {}) is None
    assert log.events == []


def test_a_speaker_that_can_not_be_had_is_told(write_settings, log):
    assert build_synthesizer(write_settings(LOUD), log, {}) is None
    (event, fields), = log.events
    assert event == "tts.unusable"
    assert fields["error"]
