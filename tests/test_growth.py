"""Time grows with length: every parser that meets foreign text.

A pattern with two open ends takes minutes over a page that an attacker
wrote. Each parser reads hostile text of one length and of four times that
length; CPU time may grow about fourfold. Short times count as FLOOR_S, and
the best of several runs counts, so that a busy machine changes nothing.
"""

import io
import random
import re
import time

import pytest

from claw.agent.memory.conflicts.pairs import find_pairs
from claw.agent.memory.exam.questions import make_question
from claw.agent.parsing import parse_tool_calls
from claw.agent.rendering.sanitise import sanitise_reply
from claw.agent.rendering.signs import CallFilter
from claw.agent.structured.code_blocks import json_candidates
from claw.channels.markers import parse_markers, without_fetches
from claw.channels.markup import parse_markdown
from claw.channels.splitting import split_text
from claw.cli.chat.markdown import split_blocks
from claw.config.lines import line_table
from claw.config.parse import parse
from claw.core.errors import ClawError
from claw.core.files import safe_name
from claw.core.images import find_images
from claw.core.memory import MemoryEntry
from claw.core.provider import ChatMessage, ChatRequest, Passage
from claw.memory.importers import ndjson
from claw.memory.markdown import format as markdown
from claw.memory.snapshot.format import read_entries
from claw.net.errors import scrub, summarise
from claw.net.failures import classify
from claw.net.retry import body_wait, retry_after
from claw.net.sse import Decoder
from claw.providers.catalog.local import parse_models
from claw.providers.cost.prices import strip_dates
from claw.providers.offline.arithmetic import calculate
from claw.providers.offline.intents import read_intent
from claw.providers.offline.quotes import bare_question, parse_memories
from claw.providers.schema import clean_for_gemini, clean_for_openai
from claw.providers.wire.reader import VisibleText
from claw.providers.wire.refusals import find_refusal
from claw.runtime.message.links import find_urls
from claw.security.redact import leaks, redaction
from claw.security.shell.commands import executable
from claw.security.shell.lexer import read
from claw.speech.audio import find_speech, seconds
from claw.storage.session_file import json_object
from claw.text.addresses import find_addresses, make_plain
from claw.text.chunks import split_chunks
from claw.text.documents.ignore import Rules
from claw.text.html import title_and_text
from claw.text.passages import best_passages, sentences
from claw.text.segment import index_text, query_terms
from claw.text.stem import stem
from claw.text.think import strip_think

CHARS = 4000
TIMES = 4
MOST = 9.0       # linear is 4, quadratic 16
FLOOR_S = 0.001  # what is quicker than this is not measured
TRIES = 4

TOOLS = ("shell", "file_read")

# What opens and never closes, long runs, and what takes turns.
TAGS = ("<", "</", "<title>", "<title ", "<!--", "<script>", "&", "<a ")
CALLS = ("<tool_call>", "<tool_call>{", "</tool_call>", "<invoke name='x'>",
         "<think>", "</think>", "<function=", "{", "[", '{"a":', "```\n",
         "shell/command>", "<|", "call: ", "\n", "a ")
QUOTES = ("[", "](", "[a](", "![", "**", "_", "`", "~~", "||", "> ", "\\",
          "```\n", "- ", "[IMAGE:", "[DOCUMENT:", "\n", "a.")
KEYS = ("sk-", "eyJ", "AKIA", "-----BEGIN ", "api_key=", "bearer ",
        "authorization: ", "?key=", "password=", "a", "1", " ", '"')
REFUSALS = ("model/", "model ", "model:", "rate limit ", "exceed ", "'", '"',
            "quota ", "api key ", "maximum ", "parameter ", "{", "[", "a",
            "retry after ", "try again in 1", "1 s, ", "1", "400 ", "\0",
            "\udcff", *TAGS)
SHELL = ("$(", "`", "'", '"', "\\", "<<E\n", "(", "{", "&&", ";", "a=", " ")
WORDS = ("a", " ", "\n", ".", "a. ", "a_", "1", "\u0301", "한", "。", "漢",
         "\u200b", "é", "-", "http://", "a@", "🙂")
WISHES = ("a", " ", "\n", "please ", "remember ", "that ", "how many ", "1+",
          "(", "1,", "%", "기억 ", "라는 ", "を", "漢", "記憶して")
# A beginning before a long run.
HEADS = ("<tool_call>", "<title>", "model: ", "기억", "retry after ", "1.",
         "```", "[IMAGE:", "authorization: ", "-")
RUNS = (" ", "\n", '"', "1", "/", "[", "`", "a ")


def piecewise(make):
    """A reader of streams, given seven characters at a time."""
    def work(text):
        reader = make()
        for at in range(0, len(text), 7):
            reader.feed(text[at:at + 7])
    return work


def events(text):
    decoder = Decoder()
    for at in range(0, len(text), 7):
        decoder.feed(text[at:at + 7].encode("utf-8", "replace"))


def lines(work):
    return lambda text: list(work(io.BytesIO(text.encode("utf-8", "replace"))))


def schema(text):
    """Many keys, each with a reference."""
    names = range(len(text) // 20)
    found = {"type": "object", "$defs": {"a": {"type": "string"}},
             "properties": {f"{text[:9]}{n}": {"$ref": "#/$defs/a"}
                            for n in names}}
    clean_for_openai(found)
    clean_for_gemini(found)


def audio(text):
    data = text.encode("latin-1", "replace")
    for head in (b"OggS", b"OggSOpusHead", b"RIFF0000WAVE", b"0000ftyp",
                 b"fLaC", b""):
        seconds(head + data)
        find_speech(head + data)


def models(text):
    parse_models(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 + text.encode("utf-8", "replace"))


def config(text):
    """Only what parses reaches the table of lines."""
    parse(text, "config.toml")
    line_table(text)


def memory(text):
    """Asked for, and held against another."""
    entry = MemoryEntry("i", "k", text, "core", "", "")
    make_question(entry, {}, random.Random(0))
    find_pairs([entry, MemoryEntry("j", "l", text + " not", "core", "", "")])


PARSERS = {
    "agent.memory": (memory, ("I ", "my ", "never ", "I've never ", ", ", ": ",
                              "is ", "a ", "我", "は", "1", *WORDS)),
    "net.failures": (lambda t: classify(None, t), REFUSALS),
    "net.failures of a status": (lambda t: classify(400, t), REFUSALS),
    "net.errors.said": (summarise, REFUSALS),
    "net.errors.scrub": (scrub, KEYS),
    "net.retry.body": (body_wait, REFUSALS),
    "net.retry.header": (lambda t: retry_after({"retry-after": t}),
                         ("1", "1,", "1 s ", "m ", ", ", "Mon, ")),
    "net.sse": (events, ("data: x\n", "data:", "\n", "\r", "\r\n", ":", "a")),
    "text.html": (lambda t: title_and_text(t, 10 ** 9), (*TAGS, "a", "&#")),
    "text.addresses": (make_plain, ("http://a.b/", "](", "a.b/", *QUOTES)),
    "text.passages": (sentences, WORDS),
    "text.best_passages": (lambda t: best_passages(
        "which colour is it?", [Passage("stdin", t)], 3), WORDS),
    "text.index": (index_text, WORDS),
    "text.chunks": (lambda t: split_chunks(t, markdown=True), (
        "# a\n", "a\n", "\n", "```\n", "===\n", "a\n---\n\n", "# ", "a ",
        "漢", *WORDS)),
    "memory.ignore": (lambda t: Rules(t).leave_out(
        ("a" * 200,) * 20, is_folder=True), (
            "*", "**/", "a/", "*a", "[", "[a", "?", "\\", "a*/", "!a\n")),
    "text.query": (query_terms, WORDS),
    "text.stem": (stem, ("a", "ing", "ss", "y")),
    "agent.parsing": (lambda t: parse_tool_calls(t, TOOLS), CALLS),
    "agent.sanitise": (lambda t: sanitise_reply(t, TOOLS), CALLS),
    "agent.calls": (piecewise(CallFilter), CALLS),
    "agent.structured": (json_candidates, CALLS),
    "channels.markers": (parse_markers, QUOTES),
    "text.find": (find_addresses, ("http://a.b/", "a.", "a@", "a.b/", "a:")),
    "channels.fetches": (without_fetches, ("http://a.b/", *QUOTES)),
    "channels.markup": (parse_markdown, QUOTES),
    "channels.splitting": (lambda t: split_text(
        *parse_markdown(t), limit=4096), QUOTES),
    "memory.snapshot": (lines(read_entries), ("### ", "---\n", "a\n", "`")),
    "memory.markdown": (lines(lambda s: markdown.parse(enumerate(s))),
                        ("- **a**: b\n", "## ", "\n", "<!--", "a")),
    "memory.ndjson": (lines(lambda s: ndjson.parse(ndjson.read_lines(s))),
                      ('{"content":"a"}\n', "\n")),
    "config": (config, ("# a\n", "[[a]]\n", "\n", " ")),
    "security.lexer": (read, SHELL),
    "security.executable": (executable, ("1", ".", "/", "a", "\\")),
    "security.redaction": (redaction.scrub, KEYS),
    "security.leaks": (leaks.guard, KEYS),
    "providers.visible": (piecewise(VisibleText), (*CALLS, "`")),
    "text.think": (strip_think, (*CALLS, "`")),
    "providers.refusals": (lambda t: find_refusal(
        400, t, dict.fromkeys(("tools", "thinking", "store"))), REFUSALS),
    "providers.schema": (schema, ("a", "/", "~")),
    "providers.local": (models, ("1\r\na\r\n", "\r\n", "1", "{")),
    "providers.prices": (lambda t: list(strip_dates(t)),
                         ("-latest", "-01", "@", "a")),
    "offline.intents": (read_intent, WISHES),
    "offline.arithmetic": (calculate, WISHES),
    "offline.memories": (parse_memories, ("- [a] b: c\n", "- [", "\n", "a")),
    "offline.question": (lambda t: bare_question(
        ChatRequest([ChatMessage.user(t)])), ("\n", "```\n", "<a>\n", "[20")),
    "core.images": (lambda t: list(find_images(t)), QUOTES),
    "core.files": (lambda t: safe_name(t, "x"), WORDS),
    "speech.audio": (audio, ("\0", "OggS", "data\0\0\0\0", "mvhd", "a")),
    "storage.sessions": (lambda t: json_object(t.encode(
        "utf-8", "replace")), ("[", '{"a":', '"', "1")),
    "cli.markdown": (split_blocks, QUOTES),
    "runtime.links": (find_urls, ("http://", "https://a.b/", "(", ")", "a")),
}


def cpu(work, text):
    """Seconds of CPU; what refuses the text is done with it."""
    start = time.process_time()
    try:
        work(text)
    except (ClawError, ValueError, RecursionError):
        pass
    return time.process_time() - start


def grows(work, head, piece):
    """How much more time TIMES the length takes, at best."""
    short, long = [head + piece * (n // len(piece)) + "\2"
                   for n in (CHARS, TIMES * CHARS)]
    taken, more = float("inf"), float("inf")
    for _ in range(TRIES):
        more = min(more, cpu(work, long))
        if more <= MOST * FLOOR_S:
            return 0.0
        taken = min(taken, cpu(work, short))
        if more <= MOST * taken:
            break
    return more / max(taken, FLOOR_S)


@pytest.mark.parametrize("name", PARSERS)
def test_time_grows_with_the_length_of_foreign_text(name):
    work, pieces = PARSERS[name]
    cases = [("", piece) for piece in pieces] + [
        (head, run) for head in HEADS for run in RUNS]
    cpu(work, "what is compiled once is compiled now: 1 + 1 [a](b) <c>")
    slow = {(head, piece): round(found, 1) for head, piece in cases
            if (found := grows(work, head, piece)) > MOST}

    assert slow == {}


def test_a_quadratic_parser_is_found():
    assert grows(lambda text: re.search("<a[^>]*>", text), "", "<a") > MOST
