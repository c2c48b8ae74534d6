"""Chunks: their size, their lines, and the headings that go with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.text.chunks import LONGEST, MOST, measure, split_chunks

PARAGRAPH = " ".join(["word"] * 100)  # 499 characters


def places(text, **options):
    return [chunk.place for chunk in split_chunks(text, **options)]


def test_a_chunk_says_which_lines_it_is():
    chunks = split_chunks("\n\none\ntwo\n\nthree\n\n")

    assert [(c.start, c.end, c.text) for c in chunks] == [
        (3, 6, "one\ntwo\n\nthree")]


def test_paragraphs_are_packed_up_to_the_size():
    assert places("\n\n".join([PARAGRAPH] * 5)) == ["1-3", "5-7", "9"]


def test_a_large_paragraph_is_parted_between_lines():
    text = "\n".join([PARAGRAPH] * 5)

    chunks = split_chunks(text)

    assert [c.place for c in chunks] == ["1-2", "3-4", "5"]
    assert "\n".join(c.text for c in chunks) == text


def test_an_overlong_line_says_where_in_it_a_chunk_begins():
    line = " ".join(["word"] * 2_000)

    chunks = split_chunks(f"short\n\n{line}")

    assert [c.place for c in chunks[:3]] == ["1", "3:1", "3:1201"]
    assert "".join(c.text for c in chunks[1:]) == line


def test_a_heading_goes_with_what_is_below_it():
    text = f"# Top\n\n{PARAGRAPH}\n\n## Rent\n\n{PARAGRAPH}\n"

    chunks = split_chunks(text, markdown=True)

    assert [(c.place, c.heading) for c in chunks] == [
        ("1-3", ""), ("5-7", "Top")]


def test_what_goes_on_below_knows_all_headings_above():
    text = f"Top\n===\n\n## Rent\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}"

    chunks = split_chunks(text, markdown=True)

    assert [(c.place, c.heading) for c in chunks] == [
        ("1-8", ""), ("10", "Top > Rent")]


def test_a_heading_stays_on_one_line():
    text = f"# a\u2028b\x0cc #\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}"

    assert split_chunks(text, markdown=True)[1].heading == "a b c"


def test_small_sections_share_a_chunk():
    text = "# A\n\none\n\n# B\n\ntwo\n"

    assert places(text, markdown=True) == ["1-7"]


def test_a_comment_in_fenced_code_is_no_heading():
    text = f"# Top\n\n```sh\n# a comment\n\nls\n```\n\n{PARAGRAPH * 3}"

    assert {c.heading for c in split_chunks(text, markdown=True)} == {
        "", "Top"}


def test_a_comment_in_code_is_no_heading():
    assert [c.heading for c in split_chunks(
        f"# setup\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}")] == ["", ""]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_an_editor_does(end):
    # no editor begins a line at U+2028 or at a form feed
    text = end.join(["a\x0cb\u2028c", "", "d"])

    assert places(text) == ["1-3"]


def test_chinese_is_parted_by_what_it_says():
    assert len(split_chunks("\n\n".join(["天氣很好。" * 60] * 4))) == 4


def test_blank_text_has_no_chunks():
    assert split_chunks(" \n\n\t\n") == []


LINES = st.lists(st.sampled_from([
    "", " ", "# A", "### B c", "====", "---", "```", "~~~", "- item",
    PARAGRAPH, "short words", "漢字" * 300, "x" * (LONGEST + 5)]), max_size=40)


@given(LINES, st.booleans())
def test_every_line_is_in_one_chunk_and_none_is_too_large(lines, markdown):
    chunks = split_chunks("\n".join(lines), markdown=markdown)

    covered = []
    for chunk in chunks:
        assert chunk.text.strip()
        if chunk.column:
            assert lines[chunk.start - 1].startswith(
                chunk.text, chunk.column - 1)
        else:
            assert chunk.text == "\n".join(lines[chunk.start - 1:chunk.end])
        if not chunk.column or chunk.column == 1:
            covered += range(chunk.start, chunk.end + 1)
        assert measure(chunk.text) <= LONGEST + MOST + 300
    assert covered == sorted(set(covered))
    blank = {number for number, line in enumerate(lines, 1)
             if not line.strip()}
    assert set(covered) | blank == set(range(1, len(lines) + 1))
