"""Questions of the agent to the person of a turn, as messages.

They live beside approvals and are kept as those are; ids that begin with
"q" tell them apart, so that an answer is never taken for a yes.
"""

import json
from collections.abc import Sequence

from claw.channels import answers
from claw.channels.markers import inert
from claw.core.channel import Button, ChannelMessage, SendMessage
from claw.core.turn import TurnContext
from claw.runtime.message.keys import command_word
from claw.text.addresses import make_plain

NO_WORDS = "Write your answer behind the id of the question."
_EMPTY = json.dumps("")


def is_question(question_id: str) -> bool:
    return question_id.startswith(answers.SIGN)


def build(question_id: str, question: str, choices: Sequence[str],
          asked: ChannelMessage, context: TurnContext) -> SendMessage:
    """The message that asks. After foreign text it holds no link."""
    lines = [inert(question), "", *(
        f"{number}. {inert(choice)}"
        for number, choice in enumerate(choices, 1))]
    lines.append(f"Answer: {question_id} and your words")
    text = "\n".join(lines)
    if context.labels:
        text = make_plain(text, context.found)
    return SendMessage(
        text, asked.reply_target, thread_ts=asked.thread_ts,
        links=tuple(sorted(context.found)) if context.labels else None,
        buttons=tuple(Button(choice, f"answer:{question_id}:{number}")
                      for number, choice in enumerate(choices)),
        answers=asked.id)


def parse_answer(message: ChannelMessage) -> tuple[str, str] | None:
    """(question id, the answer as it is kept) of a button, of what begins
    with the id, or of /reply; None for other messages."""
    if message.kind == "action":
        parts = message.content.split(":")
        return ((parts[1], str(int(parts[2]))) if len(parts) == 3
                and parts[0] == "answer" and parts[2].isdecimal()
                and len(parts[2]) < 3 else None)
    typed = answers.parse_reply(message.content)
    if typed is None and command_word(message.content) == "/reply":
        _, question_id, words = (*message.content.split(None, 2), "", "")[:3]
        typed = question_id.lower(), words
    return None if typed is None else (typed[0], json.dumps(typed[1]))


def is_empty(kept: str) -> bool:
    """Whether an id came without words: nobody's answer."""
    return kept == _EMPTY


def read_answer(kept: str, choices: Sequence[str]) -> str:
    """The person's words: those of the choice that was pressed, or whose
    number was written."""
    answer = json.loads(kept)
    if isinstance(answer, int):
        return choices[answer] if answer < len(choices) else str(answer + 1)
    number = answer.strip()
    place = int(number) if number.isdecimal() and len(number) < 4 else 0
    return str(choices[place - 1] if 0 < place <= len(choices) else answer)
