"""The provider without a model: what it answers, and what it declines."""

import json
from datetime import UTC, datetime

import pytest

from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    Passage,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec
from claw.providers.offline import reply
from claw.providers.offline.intents import memory_key, read_intent
from claw.providers.offline.quotes import bare_question

NOW = datetime(2026, 11, 20, 14, 3, 5, tzinfo=UTC)
MEMORY_TOOLS = [ToolSpec(name, "", {}) for name in (
    "memory_store", "memory_recall", "memory_forget")]
LOG = ("commit 1: Fix the rate limiter\n"
       "commit 2: Add the German translation\n"
       "commit 3: Update the README\n")
STDIN = [Passage("stdin", LOG)]
COLOUR = Passage("memory:colour", "Mina likes green")


def ask(question, passages=(), tools=MEMORY_TOOLS, history=()):
    return reply(ChatRequest([ChatMessage.user(question), *history],
                             tools=tools, passages=passages), NOW)


def call(question, passages=()):
    (found,) = ask(question, passages).tool_calls
    return found.name, json.loads(found.arguments)


def after(question, tool, said, **arguments):
    calls = AssistantToolCalls(None, (ToolCall("1", tool,
                                               json.dumps(arguments)),))
    return ask(question, history=[
        encode_tool_calls(calls),
        encode_tool_result(ToolResultMessage("1", said))]).text


def test_piped_text_is_quoted_exactly_with_its_source():
    answer = ask(f"which commit concerns the rate limiter?\n\n{LOG}", STDIN)

    assert answer.text == "> commit 1: Fix the rate limiter\n— stdin"


@pytest.mark.parametrize(("text", "question", "quoted"), [
    ("미나는 초록색을 좋아한다.\n준호는 파란색을 좋아한다.\n",
     "미나가 좋아하는 색은?", "미나는 초록색을 좋아한다."),
    ("米娜喜欢绿色。\n小明喜欢蓝色。\n", "米娜喜欢什么颜色?",
     "米娜喜欢绿色。"),
    ("ミナは緑が好きです。\n太郎は青が好きです。\n", "太郎の好きな色は?",
     "太郎は青が好きです。"),
    ("a\r\nthe port is 8080\r\nb\r\n", "which port?", "the port is 8080"),
])
def test_quotations_in_other_languages_and_line_ends(text, question, quoted):
    answer = ask(f"{question}\n\n{text}", [Passage("stdin", text)]).text

    assert answer.split("\n")[0] == f"> {quoted}"


def test_memories_are_quoted_with_their_key():
    answer = ask("what colour does Mina like?", [COLOUR])

    assert answer.text == "> Mina likes green\n— memory colour"


@pytest.mark.parametrize("asked", [
    "what colour does Mina like?", "What colour, does Mina like green?",
    "what colour does Mina like", "米娜喜欢什么颜色？"])
def test_a_remembered_question_is_not_the_answer(asked):
    question = Passage("memory:user_msg_1", asked)

    assert ask(asked, [question]).finish_reason == "no_answer"
    assert ask(asked, [question, COLOUR, Passage(
        "memory:c", "米娜喜欢绿色。")]).text.endswith(
            ("memory colour", "memory c"))


def test_what_is_known_leaves_out_what_was_asked():
    answer = after("what do you know about Mina?", "memory_recall",
                   "- [conversation] m: what does Mina like? [85%]\n"
                   "- [core] colour: Mina likes green [80%]")

    assert answer == "> Mina likes green\n— memory colour"


def test_what_tells_before_it_asks_is_still_quoted():
    told = Passage("memory:k", "Mina likes the colour green. Do you too?")

    assert "Mina likes" in ask("which colour does Mina like?", [told]).text


def test_a_piped_list_of_questions_is_quoted():
    text = "Who pays?\nWhich colour does Mina like?\n"

    assert "> Which colour does Mina like?" in ask(
        f"which question is of Mina?\n\n{text}",
        [Passage("stdin", text)]).text


def test_piped_text_goes_before_memories():
    text = "The colour of the day is red.\n"
    answer = ask("which colour?", [COLOUR, Passage("stdin", text)])

    assert "red" in answer.text
    assert "green" not in answer.text


def test_where_nothing_matches_it_says_so():
    answer = ask(f"who won the match?\n\n{LOG}", STDIN)

    assert answer.text.startswith("No line of the text matches")
    assert "3 lines, 17 words" in answer.text
    assert ">" not in answer.text


@pytest.mark.parametrize(("question", "said"), [
    ("what is 6 * 7?", "42"),
    ("1/0", "That has no value: division by zero."),
    ("what time is it?", "2026-11-20 14:03:05 UTC, Friday"),
    ("지금 몇 시야?", "2026-11-20 14:03:05 UTC, 금요일"),
    ("今天星期几?", "2026-11-20 14:03:05 UTC, 星期五"),
    ("今日は何曜日?", "2026-11-20 14:03:05 UTC, 金曜日"),
])
def test_exact_questions_have_exact_answers(question, said):
    assert ask(question).text == said
    assert ask(f"{question}\n\n{LOG}", STDIN).text == said


@pytest.mark.parametrize(("question", "number"), [
    ("how many lines are there?", "3"), ("count the words", "17"),
    ("how many characters?", str(len(LOG))), ("몇 줄이야?", "3"),
    ("多少行?", "3"), ("何行?", "3"),
])
def test_piped_text_is_counted(question, number):
    assert ask(f"{question}\n\n{LOG}", STDIN).text == number


def test_a_count_of_something_else_is_not_pretended():
    answer = ask(f"how many lines mention penguins?\n\n{LOG}", STDIN)

    assert not answer.text.isdigit()


@pytest.mark.parametrize("question", [
    "hello", "Hi there!", "안녕하세요", "你好", "您好", "こんにちは",
    "write a poem about the sea", "시를 써 줘", "写一首诗", "寫一首詩",
    "詩を書いて", "are you there?",
])
def test_it_never_pretends_to_be_a_model(question):
    answer = ask(question).text

    assert "\n" not in answer
    assert any(word in answer.lower() for word in (
        "no model is configured", "설정된 모델이 없", "没有配置模型",
        "沒有設定模型", "モデルが設定されていない"))


REMEMBER = [
    ("remember that Mina likes green", "Mina likes green"),
    ("Remember: the code is 1234", "the code is 1234"),
    ("please remember my name is Bo.", "my name is Bo."),
    ("don't forget to buy milk", "to buy milk"),
    ("미나는 초록색을 좋아한다고 기억해줘", "미나는 초록색을 좋아한다"),
    ("기억해줘: 미나는 초록색을 좋아해", "미나는 초록색을 좋아해"),
    ("내 이름은 민수라고 기억해", "내 이름은 민수"),
    ("비밀번호는 1234라는 것을 기억해 주세요", "비밀번호는 1234"),
    ("请记住米娜喜欢绿色", "米娜喜欢绿色"),
    ("記住:米娜喜歡綠色", "米娜喜歡綠色"),
    ("ミナは緑が好きだと覚えて", "ミナは緑が好きだ"),
    ("覚えておいて、ミナは緑が好き", "ミナは緑が好き"),
]


@pytest.mark.parametrize(("message", "content"), REMEMBER)
def test_remember_stores_what_was_said(message, content):
    tool, arguments = call(message)

    assert tool == "memory_store"
    assert arguments["content"] == content
    assert arguments["key"] == memory_key(content)


@pytest.mark.parametrize(("message", "subject"), [
    ("what do you know about Mina?", "Mina"),
    ("What do you remember about the wifi code", "the wifi code"),
    ("do you remember Mina?", "Mina"), ("remember Mina?", "Mina"),
    ("tell me what you know about Mina", "Mina"),
    ("미나에 대해 뭘 알아?", "미나"), ("미나 기억해?", "미나"),
    ("미나에 대해 무엇을 기억하고 있어?", "미나"),
    ("你知道关于米娜的什么?", "米娜"), ("关于米娜你知道什么?", "米娜"),
    ("你對米娜知道些什麼?", "米娜"), ("你还记得米娜吗?", "米娜"),
    ("ミナについて何を知っていますか?", "ミナ"),
    ("ミナのことを覚えていますか?", "ミナ"),
])
def test_what_is_known_is_looked_up(message, subject):
    assert call(message) == ("memory_recall", {"query": subject})


def test_everything_known_is_looked_up_by_time():
    tool, arguments = call("what do you know about me?")

    assert tool == "memory_recall"
    assert set(arguments) == {"since"}


@pytest.mark.parametrize(("message", "passages", "tool", "argument"), [
    ("forget colour", [], "memory_forget", "colour"),
    ("forget favourite colour", [
        Passage("memory:favourite_colour", "green")], "memory_forget",
     "favourite_colour"),
    ("forget that Mina likes green", [], "memory_forget",
     "mina_likes_green"),
    ("forget about the wifi code", [COLOUR], "memory_recall",
     "the wifi code"),
    ("미나를 잊어줘", [], "memory_recall", "미나"),
    ("忘记米娜", [], "memory_recall", "米娜"),
    ("忘記米娜", [], "memory_recall", "米娜"),
    ("ミナのことは忘れて", [], "memory_recall", "ミナ"),
])
def test_forgetting_goes_by_key_and_is_never_guessed(message, passages, tool,
                                                     argument):
    found, arguments = call(message, passages)

    assert found == tool
    assert list(arguments.values()) == [argument]


def test_without_the_tool_it_says_which_one_it_needs():
    answer = ask("remember that Mina likes green", tools=None)

    assert answer.tool_calls == ()
    assert "memory_store" in answer.text


LISTING = ("Found 2 memories:\n- [core] colour: Mina likes green [85%]\n"
           "- [daily] note: two\nlines [3%]")


@pytest.mark.parametrize(("question", "tool", "said", "answer"), [
    ("remember that a is b", "memory_store", "Stored memory: k",
     "Remembered: a is b"),
    ("请记住甲是乙", "memory_store", "Stored memory: k", "已记住:a is b"),
    ("remember that a is b", "memory_store", "Error: denied by policy",
     "The tool memory_store did not do it: Error: denied by policy"),
    ("what do you know about Mina?", "memory_recall", LISTING,
     "> Mina likes green\n— memory colour\n\n> two\n> lines\n— memory note"),
    ("what do you know about Mina?", "memory_recall", "No memories found.",
     'No memory matches "Mina".'),
    ("forget colour", "memory_forget", "Forgot memory: colour",
     "Forgotten: colour"),
    ("forget colour", "memory_forget", "No memory found with key: colour",
     "No memory found with key: colour"),
])
def test_after_the_tool_it_reports_what_happened(question, tool, said,
                                                 answer):
    assert after(question, tool, said, key="colour", content="a is b",
                 query="Mina") == answer


def test_candidates_to_forget_are_shown_and_kept():
    answer = after("forget about Mina", "memory_recall", LISTING,
                   query="Mina")

    assert answer.startswith("Nothing was forgotten.")
    assert "> Mina likes green\n— memory colour" in answer


@pytest.mark.parametrize("content", [
    "which colour?",
    "[2026-11-20 14:03:05 UTC] which colour?",
    "[Memory context]\n- colour: green\n\n[2026-11-20 14:03:05] "
    "which colour?",
    f"which colour?\n\n{LOG}",
    f"which colour?\n\n```\n{LOG}```",
    f"which colour?\n\n<stdin>\n{LOG}</stdin>",
    f"which colour?\n\n---\n{LOG.strip()}",
])
def test_the_question_is_found_in_what_stands_around_it(content):
    request = ChatRequest([ChatMessage.system("s"),
                           ChatMessage.user(content)], passages=STDIN)

    assert bare_question(request) == "which colour?"


@pytest.mark.parametrize("text", [
    "", " ", "\0", "\ud83d", "\u202e", "?", "(" * 5000, "기억" * 5000,
    "what do you know about " + "x" * 100_000, "remember " + "\n" * 9000,
    "覚えて" * 3000, "忘记" * 3000, "1+" * 140, "[IMAGE:data:x]",
])
def test_hostile_text_is_answered(text):
    response = ask(text, [Passage("stdin", text), Passage("memory:k", text)])

    assert response.text or response.tool_calls


def test_the_same_request_has_the_same_answer():
    assert ask("remember that Mina likes green") == ask(
        "remember that Mina likes green")


@pytest.mark.parametrize(("content", "key"), [
    ("Mina likes green", "mina_likes_green"),
    ("미나는 초록색을 좋아한다", "미나는_초록색을_좋아한다"),
    ("  A -- B!  ", "a_b"),
])
def test_keys_say_what_they_hold(content, key):
    assert memory_key(content) == key


def test_long_or_wordless_keys_stay_apart():
    long = "word " * 50
    assert memory_key(long + "a") != memory_key(long + "b")
    assert len(memory_key(long)) <= 60
    assert memory_key("!!!") != memory_key("???")


@pytest.mark.parametrize(("text", "language"), [
    ("hello", "en"), ("안녕", "ko"), ("这是什么", "zh"),
    ("這是什麼", "zh-hant"),
    ("これは何", "ja"), ("שלום", "en"),
])
def test_the_language_of_the_answer(text, language):
    assert read_intent(text).language == language
