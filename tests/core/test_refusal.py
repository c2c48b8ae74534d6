"""Calls that nobody said yes to, told under an answer."""

from claw.core.refusal import Refusal, write_remarks


def test_two_hundred_refused_calls_fill_no_phone():
    refused = [Refusal("file_write", f"path: {n}", "supervised mode")
               for n in range(200)]

    lines = write_remarks(refused)

    assert lines[:10] == [one.remark for one in refused[:10]]
    assert lines[10:] == ["not done: 190 more (see: claw log list --refused)"]
    assert write_remarks(refused[:10]) == lines[:10]
