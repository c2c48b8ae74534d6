"""Messages out, as the contract of a channel names them."""

from claw.core.channel import SendMessage


def test_a_subject_and_a_thread_are_added_to_a_copy():
    plain = SendMessage("hello", "42")

    sent = plain.with_subject("Report").in_thread("17.3")

    assert (sent.content, sent.recipient) == ("hello", "42")
    assert (sent.subject, sent.thread_ts) == ("Report", "17.3")
    assert (plain.subject, plain.thread_ts) == (None, None)
    assert sent.in_thread(None).thread_ts is None
