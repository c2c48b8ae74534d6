"""claw ask: one answer, for pipes and cron."""

import base64
import json
import signal
import subprocess
import sys
import time

import pytest

from claw.testing.fake_openai import (
    FakeOpenAI,
    Reply,
    cut_off,
    endless,
    failure,
    stalled,
    tool_call,
)

BONN = "The Oslo office opens at 9.\nThe Bonn office opens at 8.\n"


def at(server):
    return ["-p", f"custom:{server.url}"]


# --- without a model


def test_answers_from_piped_text_and_quotes_it(claw):
    done = claw("ask", "when does Bonn open?", stdin=BONN)

    assert done.code == 0
    assert "The Bonn office opens at 8." in done.out
    assert "Oslo" not in done.out
    assert "stdin" in done.out
    assert done.err.count("\n") == 1
    assert "no model" in done.err


@pytest.mark.parametrize(("text", "question", "found"), [
    ("베를린 사무실은 여덟 시에 엽니다.\n서울 사무실은 아홉 시에 엽니다.",
     "서울 사무실은 언제 엽니까?", "서울 사무실은 아홉 시에 엽니다."),
    ("柏林办公室八点开门。\n上海办公室九点开门。",
     "上海办公室几点开门？", "上海办公室九点开门。"),
    ("ベルリンの店は八時に開きます。\n東京の店は九時に開きます。",
     "東京の店は何時に開きますか。", "東京の店は九時に開きます。"),
    ("המשרד בתל אביב נפתח בתשע.\nהמשרד בחיפה נפתח בשמונה.",
     "מתי נפתח המשרד בחיפה?", "המשרד בחיפה נפתח בשמונה."),
    ("🍵 tea is at four\n🍰 cake is at five", "when is 🍰 cake?",
     "🍰 cake is at five"),
])
def test_any_script(claw_process, text, question, found):
    done = claw_process("ask", question, stdin=text, env={"LC_ALL": "C"})

    assert found in done.out
    assert done.code == 0


@pytest.mark.parametrize(("question", "answer"), [
    ("what is 6 * 7?", "42"),
    ("2+2", "4"),
    ("(1 + 2) * 3.5", "10.5"),
])
def test_exact_things_exactly(claw, question, answer):
    assert answer in claw("ask", question).out


def test_remembers_and_knows(claw):
    told = claw("ask", "remember that Mina likes green tea")
    asked = claw("ask", "what do you know about Mina?")

    assert told.code == asked.code == 0
    assert "green tea" in asked.out
    assert claw("memory", "count").out == "1\n"


def test_memory_is_used_and_can_be_left_out(claw):
    claw("memory", "store", "bonn", "The Bonn office opens at 8.")

    with_memory = claw("ask", "when does the Bonn office open?", "--json")
    without = claw("ask", "--no-memory", "when does the Bonn office open?",
                   "--json")

    assert "opens at 8" in with_memory.json["text"]
    assert [m["key"] for m in with_memory.json["recalled"]] == ["bonn"]
    assert (without.code, without.json["error"]["kind"]) == (3, "config")


@pytest.mark.parametrize("arguments", [
    ["ask", "write a poem about the sea"], ["ask", "hello"],
    ["ask", "-x", "write a script"],
    ["ask", "-p", "offline", "write a commit message"]])
def test_where_nothing_can_answer_nothing_is_printed(claw, home, arguments):
    done = claw(*arguments)
    under = claw(*arguments, stdin="zebra giraffe\n")

    for ended in (done, under):
        assert (ended.code, ended.out) == (3, "")
        assert "no model is configured" in ended.err
        assert "OPENAI_API_KEY" in ended.err
        assert "quoted or computed" not in ended.err
    assert not (home / "workspace" / "sessions").exists()


def test_json_shape(claw):
    done = claw("ask", "--json", "2+2")

    assert set(done.json) >= {"id", "provider", "model", "text", "usage",
                              "cost", "duration_ms", "session",
                              "tool_calls", "recalled"}
    assert done.out.count("\n") == 1


# --- with a model


def test_streams_the_models_words_and_nothing_else(claw):
    with FakeOpenAI(["Bonn opens at 8."]) as server:
        done = claw("ask", *at(server), "when does Bonn open?", stdin=BONN)

    assert done.out == "Bonn opens at 8.\n"
    assert done.err == ""
    sent = server.chats[0].body["messages"][-1]["content"]
    assert sent.startswith("when does Bonn open?")
    assert "The Bonn office opens at 8." in sent


def test_small_question_sends_a_small_body(claw):
    with FakeOpenAI(["yes"]) as server:
        claw("ask", *at(server), "three word question")

    assert len(server.chats[0].raw) < 1500


def test_recalled_memory_reaches_the_model_within_its_cap(claw):
    for n in range(8):
        claw("memory", "store", f"tea {n}", "green tea harbour " * 400)
    with FakeOpenAI(["yes"]) as server:
        claw("ask", *at(server), "green tea harbour")

    sent = server.chats[0].body["messages"][-1]["content"]
    assert "green tea harbour" in sent
    assert len(sent) < 4_400


def test_think_blocks_and_text_before_a_tool_call_stay_away(claw):
    with FakeOpenAI([
            Reply("<think>hm, secret</think>let me look",
                  tool_calls=(("memory_recall", '{"query": "tea"}'),)),
            "<think>aha</think>Green."]) as server:
        done = claw("ask", *at(server), "--tools", "memory_recall", "tea?")

    assert done.out == "Green.\n"


def test_prompt_guided_tools_when_the_server_refuses_native_ones(
        claw, home):
    workspace = home / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "note.txt").write_text("the note says hi")
    call = ('<tool_call>{"name": "file_read", "arguments": '
            '{"path": "note.txt"}}</tool_call>')
    with FakeOpenAI([call, "It says hi."], refuse_tools=True) as server:
        done = claw("ask", *at(server), "--tools", "file_read", "--json",
                    "what does the note say?")

    assert done.json["text"] == "It says hi."
    assert [c["name"] for c in done.json["tool_calls"]] == ["file_read"]
    assert "the note says hi" in json.dumps(server.chats[-1].body)


def test_a_call_that_nobody_could_approve_is_said(claw):
    with FakeOpenAI([tool_call("file_write", path="a", content="b"),
                     "I could not."]) as server:
        done = claw("ask", *at(server), "--tools", "file_write", "write")

    assert done.out == "I could not.\n"
    assert done.code == 6
    assert done.err.count("file_write `path: a, content: b` wanted a yes, "
                          "nobody could be asked") == 1
    assert "claw permission allow file_write path=a content=b" in done.err


@pytest.mark.parametrize(("reply", "code", "word"), [
    (failure(401, "Incorrect API key"), 4, "401"),
    (failure(404, "The model does not exist"), 5, "model"),
    (failure(500, "boom"), 5, "500"),
    (failure(429, "slow down", Retry_After="0"), 5, "429"),
    (Reply(status=200, body="<html>hello</html>", content_type="text/html"),
     5, "HTML"),
])
def test_a_failing_server_gives_one_sentence_and_its_code(
        claw, reply, code, word):
    with FakeOpenAI([reply]) as server:
        done = claw("ask", *at(server), "hello there")

    assert done.code == code
    assert done.out == ""
    assert word in done.err
    assert done.err.count("\n") == 1


def test_provider_down(claw):
    done = claw("ask", "-p", "custom:http://127.0.0.1:9/v1", "-m", "m", "hi")

    assert done.code == 5
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "127.0.0.1:9" in done.err


@pytest.mark.parametrize("fault", [
    cut_off(after_chunks=2), endless()])
def test_a_stream_that_breaks_keeps_what_was_printed_and_fails(claw, fault):
    with FakeOpenAI([fault]) as server:
        done = claw("ask", *at(server), "hello there")

    assert done.code == 5
    assert "half an answer".startswith(done.out.strip())
    assert done.out.strip()


def test_json_error_shape(claw):
    done = claw("ask", "--json", "-p", "custom:http://127.0.0.1:9/v1",
                "-m", "m", "hi")

    assert done.code == 5
    assert done.json["error"]["kind"] == "unavailable"


def test_head_takes_one_line(environment):
    with FakeOpenAI(["one\ntwo\nthree\n" * 500]) as server:
        done = subprocess.run(
            f"{sys.executable} -m claw ask -p custom:{server.url} count "
            "</dev/null | head -1; echo ${PIPESTATUS[0]}",
            shell=True, executable="/bin/bash", env=environment,
            capture_output=True, text=True, check=True)

    assert done.stdout == "one\n0\n"
    assert done.stderr == ""


def test_first_code_block(claw):
    with FakeOpenAI(["Here:\n```sh\nls -l\n```\nand\n```\nno\n```"]) as server:
        assert claw("ask", *at(server), "-x", "list").out == "ls -l\n"


def test_answer_valid_against_a_schema_or_failure(claw, tmp_path):
    schema = tmp_path / "schema.json"
    schema.write_text('{"type": "object", "required": ["n"], "properties": '
                      '{"n": {"type": "integer"}}}')
    with FakeOpenAI(['{"n": 3}']) as server:
        good = claw("ask", *at(server), "--schema", str(schema), "three")
    with FakeOpenAI(['{"n": "three"}']) as server:
        bad = claw("ask", *at(server), "--schema", str(schema), "three")

    assert json.loads(good.out) == {"n": 3}
    assert bad.code != 0
    assert bad.out == ""


@pytest.mark.parametrize("schema", [
    "n int", '{"type": "object", "properties": {"n": {"type": "integer"}}, '
    '"required": ["n"], "additionalProperties": false}'])
def test_a_schema_stands_in_the_line(claw, schema):
    with FakeOpenAI(['{"n": 3}', '{"n": 3}']) as server:
        done = claw("ask", *at(server), "--schema", schema, "three")

    assert done.out == '{"n": 3}\n'
    sent = server.chats[0].body["response_format"]["json_schema"]["schema"]
    assert sent["properties"] == {"n": {"type": "integer"}}


def test_a_file_is_taken_before_fields_of_the_same_words(claw, tmp_path):
    (tmp_path / "my n").write_text('{"type": "integer"}')
    with FakeOpenAI(["3"]) as server:
        done = claw("ask", *at(server), "--schema", "my n", "three")

    assert done.out == "3\n"


@pytest.mark.parametrize("schema", [
    "", "none.json", "my none.json", "./none", "none.yaml",
    '{"type": 5}', "{n int}",
    "n integr", '["n"]', "n {", '{"a": 1'])
def test_a_schema_that_is_none_is_told_before_anything_is_asked(claw, schema):
    done = claw("ask", "--schema", schema, "hi")

    assert (done.code, done.out) == (2, "")
    assert "--schema" in done.err


def test_rows_are_lines_of_json(claw):
    rows = ['{"name": "Ada"}', '{"name": "名前\\n2"}']
    replies = [f'{{"items": [{", ".join(rows)}]}}', '{"items": []}',
               '{"items": [{"name": 1}]}']
    with FakeOpenAI(replies) as server:
        two, none, bad = (claw("ask", *at(server), "--schema-multi",
                               "name str", "who?") for _ in replies)

    assert (two.code, two.out) == (0, "\n".join(rows) + "\n")
    assert (none.code, none.out) == (0, "")
    assert (bad.code, bad.out) == (5, "")
    assert "items[0].name" in bad.err
    sent = server.chats[0].body["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["items"]["items"]["required"] == ["name"]


def test_a_system_prompt_is_sent_as_it_is(claw):
    with FakeOpenAI(["hi"]) as server:
        claw("ask", *at(server), "-s", "Be brief.", "hi")
        claw("ask", *at(server), "hi")

    assert [chat.body["messages"] for chat in server.chats] == [
        [{"role": "system", "content": "Be brief."},
         {"role": "user", "content": "hi"}],
        [{"role": "user", "content": "hi"}]]


def test_a_misspelt_alias_is_hinted_at_and_asked_for(claw):
    claw("model", "alias", "fast", "llama-3")
    with FakeOpenAI(["hi"]) as server:
        done = claw("ask", *at(server), "-m", "fasst", "hi")
        plain = [claw("ask", *at(server), "-m", name, "hi")
                 for name in ("fast", "gpt-5.1", "llama-4")]

    assert (done.code, done.out) == (0, "hi\n")
    assert 'did you mean "fast"?' in done.err
    assert server.chats[0].body["model"] == "fasst"
    assert [one.err for one in plain] == ["", "", ""]


def test_a_model_that_is_known_is_no_misspelt_alias(claw):
    claw("model", "alias", "gpt-5.2", "llama-3")
    with FakeOpenAI(["hi"], models=["gpt-9.2"]) as server:
        claw("provider", "models", f"custom:{server.url}")
        listed = claw("ask", *at(server), "-m", "gpt-9.2", "hi")
        priced = claw("ask", *at(server), "-m", "gpt-5.1", "hi")

    assert listed.err + priced.err == ""


def test_a_file_alone_is_the_question(claw, tmp_path):
    (tmp_path / "q.txt").write_text("what is 6 * 7?\n")

    alone = claw("ask", "-f", "q.txt", cwd=tmp_path)
    piped = claw("ask", "-f", "-", stdin="what is 6 * 7?")

    assert (alone.code, alone.out) == (piped.code, piped.out) == (0, "42\n")


@pytest.mark.parametrize("files", [["a.txt", "b.txt"], ["d"], ["p.png"]])
def test_a_hint_shows_how_to_ask_about_what_is_attached(claw, tmp_path,
                                                        files):
    (tmp_path / "d").mkdir()
    for name in ("a.txt", "b.txt", "d/c.txt"):
        (tmp_path / name).write_text("2+2")
    (tmp_path / "p.png").write_bytes(PNG)

    done = claw("ask", *(word for name in files for word in ("-f", name)),
                cwd=tmp_path)

    assert (done.code, done.out) == (2, "")
    assert 'claw ask -f FILE "what' in done.err


def test_json_and_jsonl_exclude_each_other(claw):
    for command in (["ask", "2+2"], ["memory", "list"]):
        done = claw(*command, "--json", "--jsonl")

        assert done.code == 2
        assert done.json["error"]["kind"] == "usage"


def test_a_fence_without_a_block_in_it_is_no_empty_answer(claw):
    with FakeOpenAI(["Here:\n```\n```\nDone."] * 2) as server:
        kept, gone = (claw("ask", *at(server), "-x", "code", *more)
                      for more in ([], ["--no-log"]))

    assert (kept.code, kept.out) == (gone.code, gone.out) == (1, "")
    assert "claw log show --last" in kept.err
    assert "claw log" not in gone.err


def test_a_question_that_nothing_answers_leaves_nothing_in_a_folder(
        claw, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    failed = [claw("ask", "-w", str(work), *words) for words in (
        ["who was first?"], ["-p", "nobody", "hi"], ["--schema", "{", "hi"],
        ["-f", "none", "hi"], ["-T", "none"], ["--session", "s", "hi"])]

    assert [done.code for done in failed] == [3, 2, 2, 2, 1, 3]
    assert not any("workspace" in done.err for done in failed)
    assert list(work.iterdir()) == []


def test_a_folder_becomes_a_workspace_with_the_first_answer(claw, tmp_path):
    work = str(tmp_path / "work")
    first, second, told = (claw("ask", "-w", work, words) for words in (
        "2+2", "3+3", "remember that Mina likes tea"))

    assert "is a workspace from now on" in first.err
    assert "workspace" not in second.err + told.err
    assert claw("log", "list", "-w", work).out.count("\n") == 3


def test_one_field_is_no_missing_file(claw, tmp_path):
    (tmp_path / "name").mkdir()  # nor is a folder of that name meant

    for option in ("--schema", "--schema-multi"):
        done = claw("ask", option, "name", "-m", "m", "-p",
                    "custom:http://127.0.0.1:9/v1", "--dry-run", "who?")

        assert done.code == 0
        assert '"required": ["name"]' in done.out


def test_an_error_in_a_schema_names_the_option_that_was_given(claw):
    for schema in ("n [", "{3}", "./none", " "):
        done = claw("ask", "--schema-multi", schema, "hi")

        assert done.code == 2
        assert "--schema-multi" in done.err
        assert "--schema " not in done.err.replace("--schema-multi", "")
        assert "--schema:" not in done.err


@pytest.mark.parametrize("more", [("--schema", "n"), ("--save", "t")])
def test_rows_go_with_neither_schema_nor_save(claw, more):
    done = claw("ask", "--schema-multi", "n", *more, "hi")

    assert (done.code, done.out) == (2, "")
    assert "--schema-multi" in done.err


def test_usage_is_told_on_stderr_after_the_answer(claw):
    for key, price in (("input", "1000"), ("output", "2000")):
        claw("config", "set", f'cost.prices."odd".{key}', price)
    claw("config", "set", 'cost.prices."half".input', "1")
    with FakeOpenAI(["fine"] * 4) as server:
        unknown = claw("ask", *at(server), "-m", "half", "-u", "hi")
        done = claw("ask", *at(server), "-m", "odd", "--usage", "hi")
        as_json = claw("ask", *at(server), "-m", "odd", "-u", "--json", "hi")
        quiet = claw("ask", *at(server), "-m", "odd", "-q", "-u", "hi")

    assert (done.code, done.out) == (0, "fine\n")
    found = as_json.json
    assert done.err == as_json.err == (
        f"claw: tokens: {found['usage']['input_tokens']} in, "
        f"{found['usage']['output_tokens']} out; "
        f"cost: ${found['cost']:.4f}\n")
    assert "cost: unknown" in unknown.err
    assert quiet.err == done.err  # it was asked for


@pytest.fixture
def priced(claw):
    for key, price in (("input", "1000"), ("output", "2000")):
        claw("config", "set", f'cost.prices."odd".{key}', price)
    claw("config", "set", "cost.daily_limit_usd", "1000")


@pytest.mark.parametrize("more", [(), ("--no-stream",), ("--json",)])
def test_max_cost_sends_how_long_the_answer_may_be(claw, priced, more):
    with FakeOpenAI(["fine"] * 2) as server:
        little = claw("ask", *at(server), "-m", "odd", "--max-cost", "1.5",
                      *more, "hi")
        much = claw("ask", *at(server), "-m", "odd", "--max-cost", "20",
                    *more, "hi")
        first, second = (chat.body["max_tokens"] for chat in server.chats)

    assert (little.code, much.code) == (0, 0)
    # at most 1.5 $ for a prompt of some hundred tokens and the answer
    assert 16 <= first < 750
    assert second == 4096


def test_a_prompt_that_costs_more_than_max_cost_is_not_sent(claw, priced):
    with FakeOpenAI(["fine"]) as server:
        done = claw("ask", *at(server), "-m", "odd", "--max-cost", "1",
                    stdin="\u65e5" * 600)

        assert server.chats == []
    assert (done.code, done.out) == (8, "")
    assert "--max-cost" in done.err


@pytest.mark.parametrize(("option", "code"), [
    ("top_p=0.9", 0), ('models=["gpt-6-pro"]', 2), ('plugins=["web"]', 2),
    ("web_search_options={}", 2), ('provider={"sort": "speed"}', 2)])
def test_options_that_may_cost_more_are_refused_under_max_cost(
        claw, priced, option, code):
    with FakeOpenAI(["fine"]) as server:
        done = claw("ask", *at(server), "-m", "odd", "--max-cost", "20",
                    "-o", option, "hi")

        assert len(server.chats) == (not code)
    assert done.code == code


def test_without_a_model_nothing_was_counted(claw):
    done = claw("ask", "-u", "what is 6 * 7?")

    assert "tokens: 0 in, 0 out; cost: $0.00\n" in done.err


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_answer_is_asked_for_whole(claw, more):
    with FakeOpenAI(["fine"]) as server:
        done = claw("ask", *at(server), "--no-stream", *more, "hi")

    assert (done.json["text"] if more else done.out.strip()) == "fine"
    assert not server.chats[0].body.get("stream")


def test_continue_and_sessions(claw):
    with FakeOpenAI(["one", "two", "three", "four"]) as server:
        claw("ask", *at(server), "first question")
        claw("ask", *at(server), "-c", "second question")
        claw("ask", *at(server), "third question")
        claw("ask", *at(server), "--session", "work", "fourth question")
        claw("ask", *at(server), "--session", "work", "fifth question")

    texts = [[m["content"] for m in chat.body["messages"]]
             for chat in server.chats]
    assert "first question" in texts[1][0]
    assert len(texts[2]) == 1
    assert any("fourth" in text for text in texts[4])


def test_no_log_keeps_no_text(claw, home):
    with FakeOpenAI(["the answer"]) as server:
        claw("ask", *at(server), "--no-log", "a secret question")

    kept = b"".join(p.read_bytes() for p in home.rglob("*") if p.is_file())
    assert b"secret" not in kept


def test_a_home_that_cannot_be_written_still_answers(claw, home):
    (home / "workspace").mkdir(parents=True)
    for name in ("sessions", "state"):
        (home / "workspace" / name).write_text("so nothing can be kept")

    done = claw("ask", "what is 6 * 7?")
    named = claw("ask", "what is 6 * 7?", "--session", "work")

    assert (done.code, done.out) == (0, "42\n")
    assert "the log does not keep this" in done.err
    assert (named.code, named.out) == (74, "42\n")


def test_dry_run_prints_the_request_and_sends_nothing(claw):
    with FakeOpenAI(["no"]) as server:
        done = claw("ask", *at(server), "-m", "m", "--dry-run", "hello")

    assert done.json["messages"][-1]["content"].endswith("hello")
    assert server.chats == []


def test_a_dry_run_without_a_model_looked_like_one_with(claw):
    done = claw("ask", "--dry-run", "hello")

    assert done.json["provider"] == "offline"
    assert "no model is configured" in done.err


def test_a_dry_run_names_whom_a_hint_leads_to(claw, home):
    with FakeOpenAI(["no"]) as server, FakeOpenAI(["no"]) as fast:
        home.mkdir()
        (home / "config.toml").write_text(
            "[[model_routes]]\nhint = 'fast'\nmodel = 'small'\n"
            f"provider = 'custom:{fast.url}'\n")
        done = claw("ask", *at(server), "-m", "hint:fast", "--dry-run",
                    "hello")

    assert (done.json["provider"], done.json["model"]) == (
        f"custom:{fast.url}", "small")
    assert server.requests == fast.requests == []


def test_an_answer_interrupted_in_mid_stream_ends_its_line(environment):
    with FakeOpenAI([stalled("half an answer", after_chunks=2)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "claw", "ask", *at(server), "-m", "m",
             "hello"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment)
        first = process.stdout.read(len("half an"))
        process.send_signal(signal.SIGINT)
        rest, complaint = process.communicate(timeout=30)

    assert process.returncode == 130
    assert (first + rest, complaint) == (b"half an\n", b"")


@pytest.mark.parametrize(("stop", "code"), [
    (signal.SIGINT, 130), (signal.SIGTERM, 130), (None, 5)])
@pytest.mark.parametrize("text", ["half an answer", ""])
def test_an_interrupted_json_still_prints_its_document(
        environment, stop, code, text):
    reply = stalled(text, after_chunks=2) if text else stalled()
    with FakeOpenAI([reply]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "claw", "ask", *at(server), "-m", "m",
             "--json", *(() if stop else ("--timeout", "3")), "hello"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment)
        while stop and not server.chats:
            time.sleep(0.05)
        if stop:
            time.sleep(1)
            process.send_signal(stop)
        printed, complaint = process.communicate(timeout=30)

    assert process.returncode == code
    found = json.loads(printed)
    assert found["error"]["kind"] == "interrupted"
    assert found["text"] == text[:len("half an")]
    assert found["error"]["message"] in complaint.decode()


def test_ctrl_c_while_stdin_is_read_prints_the_document_too(
        environment, settle):
    with subprocess.Popen(
            [sys.executable, "-m", "claw", "ask", "--json", "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment) as process:
        settle(process.pid)
        process.send_signal(signal.SIGINT)
        process.wait(30)
        printed = process.stdout.read()

    assert process.returncode == 130
    assert json.loads(printed)["error"]["kind"] == "interrupted"


@pytest.mark.parametrize("words", [["-"], ["hello"]])
def test_behind_a_script_sigterm_ends_it_all_the_same(
        environment, settle, words):
    """There a shell has it ignore Ctrl-C."""
    with FakeOpenAI([stalled()]) as server, subprocess.Popen(
            [sys.executable, "-m", "claw", "ask", *at(server), "-m", "m",
             "--json", *words],
            stdin=subprocess.PIPE if words == ["-"] else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_IGN)) as process:
        settle(process.pid)
        process.send_signal(signal.SIGINT)
        settle(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        printed = process.stdout.read()

    assert process.returncode == 130
    assert json.loads(printed)["error"]["kind"] == "interrupted"


def test_jsonl_streams_events_and_ends_with_the_document(claw):
    replies = [tool_call("file_read", path="none"), "fine day"]
    with FakeOpenAI(replies) as server:
        done = claw("ask", *at(server), "-m", "m", "--tools", "file_read",
                    "--jsonl", "hi")

    *events, last = map(json.loads, done.out.splitlines())
    assert done.code == 0
    assert [e["type"] for e in events if e["type"] != "text"] == [
        "discard", "tool_start", "tool_end"]
    assert "".join(e.get("delta", "") for e in events) == "fine day"
    assert (last["type"], last["text"]) == ("answer", "fine day")
    assert last["tool_calls"][0]["name"] == "file_read"


@pytest.mark.parametrize(("reply", "more", "kind"), [
    (stalled("half an answer", after_chunks=2), ("--timeout", "2"),
     "interrupted"),
    (failure(401, "no"), (), "auth"),
    ("no code", ("-x",), "not_found")])
def test_jsonl_ends_with_the_error(claw, reply, more, kind):
    with FakeOpenAI([reply]) as server:
        done = claw("ask", *at(server), "-m", "m", "--jsonl", *more, "hi")

    *events, last = map(json.loads, done.out.splitlines())
    assert done.code != 0
    assert (last["type"], last["error"]["kind"]) == ("error", kind)
    assert last["text"] == "".join(e["delta"] for e in events)


def test_an_answer_that_was_cut_off_stands_beside_the_error(claw):
    with FakeOpenAI([cut_off("half an answer", after_chunks=2)] * 9
                    ) as server:
        done = claw("ask", *at(server), "-m", "m", "--json", "hello")

    assert done.code == 5
    assert done.json["error"]["kind"] != "interrupted"
    assert "half an" in done.json["text"]


def test_a_question_that_took_too_long_stays_in_its_session(claw):
    with FakeOpenAI([stalled()]) as server:
        late = claw("ask", *at(server), "-m", "m", "--session", "work",
                    "--timeout", "0.5", "who signed it?")
        shown = claw("session", "show", "work")

    assert late.code == 5
    assert "who signed it?" in shown.out


# --- what comes in


def test_prompt_from_stdin_alone(claw):
    assert "42" in claw("ask", stdin="what is 6 * 7?").out
    assert "42" in claw("ask", "-", stdin="what is 6 * 7?").out


def test_no_prompt_at_all(claw):
    done = claw("ask")

    assert done.code == 2
    assert done.out == ""


def test_one_mebibyte_of_stdin(claw):
    line = "filler words without meaning here\n"
    text = line * ((1 << 20) // len(line) - 3) + "the password is swordfish\n"
    text = text[:1 << 20]

    done = claw("ask", "what is the password?", stdin=text)

    assert done.code == 0
    assert "swordfish" in done.out


def test_more_than_the_limit_is_a_clear_error(claw):
    text = "how many words?"
    done = claw("ask", text, stdin="x" * ((1 << 20) + 1))
    more = claw("ask", text, "--stdin-limit", "2000000",
                stdin="x" * ((1 << 20) + 1))

    assert done.code == 2
    assert "--stdin-limit" in done.err
    assert more.code == 0


def test_a_limit_beyond_all_memory_takes_no_room(claw):
    done = claw("ask", "where is the cup?", "--stdin-limit", "9" * 24,
                stdin="the cup is here\n")

    assert done.code == 0
    assert "here" in done.out


def test_invalid_utf8_and_nul(claw):
    done = claw("ask", "where is the cup?",
                stdin=b"the cup \xff is\x00 here\nthe plate is there\n")

    assert done.code == 0
    assert "the cup \ufffd is" in done.out


def test_file_is_put_under_the_prompt(claw, tmp_path):
    (tmp_path / "hours.txt").write_text(BONN)
    done = claw("ask", "when does Bonn open?", "-f", "hours.txt")

    assert "The Bonn office opens at 8." in done.out
    assert "hours.txt" in done.out


def test_missing_file(claw):
    done = claw("ask", "what?", "-f", "missing.txt")

    assert done.code == 2
    assert "missing.txt" in done.err


def test_timeout(claw):
    with FakeOpenAI([Reply("late", delay_s=20)]) as server:
        started = time.monotonic()
        done = claw("ask", *at(server), "--timeout", "0.5", "hello")

    assert done.code == 5
    assert "0.5" in done.err
    assert time.monotonic() - started < 15


def test_unknown_provider_and_tool(claw):
    provider = claw("ask", "-p", "opnai", "hi")
    tool = claw("ask", "--tools", "file_raed", "hi")

    assert provider.code == 2
    assert "openai" in provider.err
    assert tool.code == 2
    assert "file_read" in tool.err


def test_python_function_gives_what_json_prints(environment, tmp_path):
    code = ("import claw, json\n"
            "print(json.dumps(claw.ask('when does Bonn open?', "
            f"stdin={BONN!r}, provider='offline')))\n"
            "with claw.open_memory() as memory:\n"
            "    memory.store('a', 'b')\n"
            "    print(memory.get('a').content)\n")
    done = subprocess.run([sys.executable, "-c", code], env=environment,
                          cwd=tmp_path, capture_output=True, text=True,
                          check=True)

    answer, content = done.stdout.strip().split("\n")
    assert "opens at 8" in json.loads(answer)["text"]
    assert content == "b"


def test_damaged_lines_of_a_session_are_told_and_passed_over(claw, home):
    sessions = home / "workspace" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "s.jsonl").write_text(
        '{"session": "s"}\n'
        '{"type": "Chat", "data": {"role": "user", "content": "before"}}\n'
        '{"type": "Future", "data": {}}\n{"type": "Chat", "da\n')
    with FakeOpenAI(["fine"]) as server:
        done = claw("ask", *at(server), "-m", "m", "--session", "s", "now?")

    assert (done.code, done.out) == (0, "fine\n")
    assert "2 damaged lines were passed over" in done.err
    said = [m["content"] for m in server.chats[0].body["messages"]]
    assert said == ["before", "now?"]


@pytest.mark.parametrize("option", ["-t", "--timeout"])
def test_nan_is_no_number(claw, option):
    with FakeOpenAI(["fine"]) as server:
        done = claw("ask", *at(server), "-m", "m", option, "nan", "hi")

    assert done.code == 2
    assert "not a number" in done.err
    assert server.chats == []


@pytest.mark.parametrize("reply", ["fine", failure(404, "no such model")])
def test_a_key_in_the_query_of_an_address_is_never_shown(claw, reply):
    with FakeOpenAI([reply]) as server:
        done = claw("ask", "-p", f"custom:{server.url}?key=sk-canary", "-m",
                    "m", "-v", "--json", "hi")

    assert len(server.chats) == 1
    assert "canary" not in done.out + done.err


def test_a_schema_file_without_end_is_refused(claw):
    done = claw("ask", "--schema", "/dev/zero", "hi")

    assert done.code == 2
    assert "/dev/zero is longer than" in done.err


def test_of_a_long_session_the_latest_messages_are_sent(claw, home):
    sessions = home / "workspace" / "sessions"
    sessions.mkdir(parents=True)
    (sessions / "s.jsonl").write_text("".join(
        json.dumps({"type": "Chat", "data": {
            "role": ("user", "assistant")[n % 2], "content": f"text {n}"}})
        + "\n" for n in range(400)))
    for command in ("ask", "agent"):
        with FakeOpenAI(["fine"]) as server:
            done = claw(command, *at(server), "-m", "m", "--session", "s",
                        "now?", env={"CLAW_AGENT__MAX_HISTORY_MESSAGES": "6"})

        assert done.code == 0
        said = [m["content"] for m in server.chats[0].body["messages"]
                if m["role"] != "system"]
        assert len(said) <= 7
        assert said[-1].endswith("now?")
        assert len((sessions / "s.jsonl").read_text().splitlines()) > 400


# --- images, recordings and addresses


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def urls(chat):
    """The images of a request, in order."""
    return [part["image_url"]["url"] for message in chat.body["messages"]
            if isinstance(message["content"], list)
            for part in message["content"] if part["type"] == "image_url"]


def test_an_image_is_shown_and_still_seen_by_the_next_question(
        claw, home, tmp_path):
    (tmp_path / "photo").write_bytes(PNG)
    with FakeOpenAI(["a cat", "red", "blue"]) as server:
        first = claw("ask", *at(server), "-f", "photo", "what is it?")
        (tmp_path / "photo").unlink()
        claw("ask", *at(server), "-c", "which colour?")
        claw("ask", *at(server), "a new question")

    assert (first.code, first.out, first.err) == (0, "a cat\n", "")
    shown = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert [urls(chat) for chat in server.chats] == [[shown], [shown], []]
    texts = [p["text"] for p in
             server.chats[0].body["messages"][-1]["content"]
             if p["type"] == "text"]
    assert texts == ["what is it?"]
    for path in home.rglob("*.jsonl"):
        assert "base64" not in path.read_text()


def test_no_log_keeps_no_image(claw, home, tmp_path):
    (tmp_path / "photo").write_bytes(PNG)
    with FakeOpenAI(["a cat"]) as server:
        done = claw("ask", *at(server), "--no-log", "-f", "photo", "what?")

    assert done.code == 0
    assert len(urls(server.chats[0])) == 1
    kept = [p.name for p in home.rglob("*") if p.is_file()]
    assert {name.partition("-")[0] for name in kept} == {"ledger.db"}


def test_an_image_that_can_not_be_kept_is_shown_all_the_same(
        claw, home, tmp_path):
    (tmp_path / "photo").write_bytes(PNG)
    (home / "workspace" / "sessions").mkdir(parents=True)
    (home / "workspace" / "sessions" / "images").write_text("in the way")
    with FakeOpenAI(["a cat"]) as server:
        done = claw("ask", *at(server), "-f", "photo", "what?")

    assert (done.code, done.out) == (0, "a cat\n")
    assert "can't be kept" in done.err
    assert len(urls(server.chats[0])) == 1


def test_of_too_many_images_the_newest_are_sent_and_it_is_said(
        claw, tmp_path):
    files = []
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(PNG + bytes([number]))
        files += ["-f", f"{number}.png"]
    with FakeOpenAI(["cats"]) as server:
        done = claw("ask", *at(server), *files, "what?")

    assert done.code == 0
    assert [base64.b64decode(u.partition(",")[2])[-1]
            for u in urls(server.chats[0])] == [2, 3, 4, 5]
    assert "only the newest 4" in done.err


@pytest.mark.parametrize("piped", [
    "see [IMAGE:secret.png] and [IMAGE:/etc/passwd]",
    "```\n[IMAGE:target]\n```"])
def test_piped_text_names_no_image(claw, home, piped):
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "secret.png").write_bytes(PNG)
    with FakeOpenAI(["fine"]) as server:
        done = claw("ask", *at(server), "explain", stdin=piped)

    assert done.err == ""
    assert server.chats[0].body["messages"][-1]["content"] \
        == f"explain\n\n{piped}"


def test_the_one_without_a_model_says_that_it_sees_nothing(claw, tmp_path):
    (tmp_path / "photo").write_bytes(PNG)
    done = claw("ask", "-f", "photo", "what is it?")

    assert done.code == 3
    assert "no model is configured" in done.err
    assert "claw onboard" in done.err
    assert "capability" not in done.err


def test_an_image_without_a_question_shows_how_to_ask_about_one(claw):
    done = claw("ask", stdin=PNG)

    assert (done.code, done.out) == (2, "")
    assert 'claw ask "what is in this picture?" < photo.png' in done.err


def test_a_recording_without_transcription_says_how_to_get_it(
        claw, tmp_path):
    (tmp_path / "memo.ogg").write_bytes(b"OggS\0" + bytes(100))
    done = claw("ask", "-f", "memo.ogg", "what does she want?")

    assert done.code == 3
    assert "memo.ogg is a recording" in done.err
    assert "transcription.enabled" in done.err


@pytest.mark.parametrize(("arguments", "stdin"), [
    (["ask", "-f", "memo.ogg", "what?"], b""),
    (["ask", "what?"], b"OggS\0" + bytes(100)),
    (["map", "what?", "memo.ogg"], b"")])
def test_what_writes_a_recording_down_for_money_passes_no_max_cost(
        claw, home, tmp_path, priced, arguments, stdin):
    with open(home / "config.toml", "a") as file:
        file.write('[transcription]\nenabled = true\n'
                   'default_provider = "groq"\napi_key = "gsk_1"\n')
    (tmp_path / "memo.ogg").write_bytes(b"OggS\0" + bytes(100))
    with FakeOpenAI(["x"]) as server:
        done = claw(*arguments, *at(server), "-m", "odd", "--max-cost", "9",
                    stdin=stdin)

        assert server.requests == []
    assert done.code != 0
    assert "--max-cost does not count" in done.err


def test_a_recording_is_asked_about_as_text(claw, home, tmp_path):
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(
        '[transcription]\nenabled = true\ndefault_provider = "command"\n'
        'command = ["/bin/sh", "-c", "echo Bonn opens at 8.", "{file}"]\n')
    (home / "config.toml").chmod(0o600)
    (tmp_path / "memo").write_bytes(b"OggS\0" + bytes(100))
    with FakeOpenAI(["at 8"]) as server:
        done = claw("ask", *at(server), "-f", "memo", "when?")

    assert done.code == 0
    assert server.chats[0].body["messages"][-1]["content"] \
        == "when?\n\nmemo:\nBonn opens at 8."


def test_an_address_that_the_owner_names_is_read(claw):
    """Also of a server of their own; what is asked of it holds no key."""
    with FakeOpenAI(["one model"]) as server:
        done = claw("ask", *at(server), "-f", f"{server.url}/models",
                    "which models?", env={"CLAW_API_KEY": "sk-canary"})

    assert (done.code, done.out) == (0, "one model\n")
    asked = server.requests[-1].body["messages"][-1]["content"]
    assert '"fake-model"' in asked
    assert "/models:\n" in asked
    fetched = next(r for r in server.requests
                   if "authorization" not in r.headers)
    assert fetched.path.endswith("/models")


def test_a_dry_run_shows_the_image(claw, home, tmp_path):
    (tmp_path / "photo").write_bytes(PNG)
    with FakeOpenAI(["no"]) as server:
        done = claw("ask", *at(server), "-m", "m", "--dry-run", "-f",
                    "photo", "hello")

    assert "[IMAGE:data:image/png;base64," in done.json["messages"][-1][
        "content"]
    assert server.chats == []
    assert [p for p in home.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("prompt", ["*", " * "])
def test_a_prompt_that_says_nothing_brings_no_memory(claw, prompt):
    claw("memory", "store", "colour", "Mina likes green")
    with FakeOpenAI(["yes"]) as server:
        claw("ask", *at(server), "-m", "m", "--", prompt)

    assert "green" not in str(server.chats)
