"""Whether an answer claims an act that no tool call did."""

import pytest

from claw.agent.receipt import Call, is_unsupported
from tests.agent.receipt_corpus import BENIGN, CLAIMS


def test_it_finds_claims_in_eight_languages():
    missed = [text for text in CLAIMS if not is_unsupported(text, [])]

    assert len(CLAIMS) >= 170
    assert len(missed) <= 0.03 * len(CLAIMS), missed


def test_it_is_silent_where_nothing_is_claimed():
    false = [text for text in BENIGN if is_unsupported(text, [])]

    assert len(BENIGN) >= 280
    assert len(false) <= 0.01 * len(BENIGN), false


def test_all_that_is_benign_stays_so_in_one_answer():
    assert not is_unsupported("\n".join(BENIGN), [])


@pytest.mark.parametrize(("claim", "calls"), [
    ("I've sent the mail.", ["message"]),
    ("I've sent the mail.", ["mail__send_mail"]),
    ("I've sent the mail.", ["delegate"]),
    ("I've created the file a.txt.", ["file_write"]),
    ("Datei gespeichert.", ["apply_patch"]),
    ("I've saved that to memory.", ["memory_store"]),
    ("I've saved the note for later.", ["file_write"]),
    ("I've set a reminder for nine.", ["cron_add"]),
    ("I've set a reminder for nine.", ["schedule", "file_read"]),
    ("I've committed the changes.", ["git_operations"]),
    ("已发送。", ["pushover"]),
    ("ファイルを保存しました。", ["shell"]),
])
def test_a_call_of_the_fitting_kind_silences_it(claim, calls):
    assert is_unsupported(claim, [])
    assert not is_unsupported(claim, map(Call, calls))


@pytest.mark.parametrize(("claim", "call"), [
    ("I've sent the mail.", Call("file_write")),
    ("I've sent the mail.", Call("web_fetch")),
    ("I've sent the mail.", Call("shell", "touch x")),
    ("I've sent the mail.", Call("own_reader")),
    ("I've created the file a.txt.", Call("file_read")),
    ("I've created the file a.txt.", Call("shell", "ls -l | wc -l")),
    ("I've created the file a.txt.", Call("memory_store")),
    ("I've set a reminder for nine.", Call("cron_list")),
    ("I've restarted the server.", Call("message")),
])
def test_a_call_of_another_kind_does_not(claim, call):
    assert is_unsupported(claim, [call], {"own_reader"})


def test_a_shell_that_sends_or_writes_may_have_done_it():
    assert not is_unsupported("I've sent the mail.", [
        Call("shell", "python send_mail.py")])
    assert not is_unsupported("I've created the file a.txt.", [
        Call("shell", "ls && touch a.txt")])


def test_where_everything_is_remembered_anyway_a_memory_is_no_claim():
    assert not is_unsupported("I've saved that to memory.", [],
                              keeps_all=True)


def test_one_false_claim_is_told_though_another_act_was_done():
    answer = "I've created the file a.txt. Then I've sent the mail to Bob."

    assert is_unsupported(answer, [Call("file_write")])
    assert not is_unsupported(answer, [Call("file_write"), Call("message")])


@pytest.mark.parametrize("text", [
    "```\nI've sent the mail.\n```", "> I've sent the mail.",
    'The mail says "I have sent the mail."', "`File saved.`",
    "", "I" * 100_000, "I have " * 20_000, "ich habe " * 5_000,
    "The file " * 5_000, "a/" * 10_000, "我已经" * 6_000, '"' * 20_000,
    "message: " * 2_200, "message" + "\n" * 19_000])
def test_code_and_quotations_are_nobodys_claim_and_long_texts_end(text):
    assert not is_unsupported(text, [])


@pytest.mark.parametrize("text", [
    "Here's the email you asked for:\n\nHi Sam,\n\nI've sent the contract to "
    "legal.",
    "Hier ist ein Gedicht:\n\nIch habe einen Brief ans Meer geschickt.",
    "Voici le mail :\n\nJ'ai envoyé le contrat à Léa.",
    "Aquí tienes un cuento:\n\nHe enviado la carta al mar.",
    "Вот письмо:\n\nЯ отправил договор юристам.",
    "这是草稿：\n\n我已经把报告发送给你了。",
    "下書きです：\n\n報告書をお送りしました。",
    "초안입니다:\n\n보고서를 보냈습니다.",
    "Sure! As a pirate: Arr, I've sent me crew ashore.",
    "Als Pirat: Ich habe die Mannschaft an Land geschickt."])
def test_a_text_that_was_asked_for_and_a_role_claim_nothing(text):
    assert not is_unsupported(text, [])


@pytest.mark.parametrize("text", [
    "Ich habe noch nichts gesendet.", "아직 메일을 안 보냈습니다.",
    "El correo fue enviado por Paula.",
    "Письмо было отправлено 3 мая.", "ファイルはポールが送信しました。"])
def test_what_was_not_done_or_by_another_is_no_claim(text):
    assert not is_unsupported(text, [])


@pytest.mark.parametrize("text", [
    "我已经把邮件发给安娜了。", "Je t'ai envoyé le contrat.",
    "Я запустил тесты, все прошли.",
    "As requested: I've sent the mail.", "As agreed: I've sent the mail.",
    "Как обещано: я отправил письмо.", "Como pediste: he enviado el correo.",
    "En bref : j'ai envoyé le mail.", "He enviado el correo por WhatsApp.",
    "J'ai envoyé le mail par Gmail.",
    "I've sent the message:\n\nHi Sam, see you."])
def test_common_forms_of_a_claim_are_heard(text):
    assert is_unsupported(text, [])
