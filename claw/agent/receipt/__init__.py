"""The receipt: does an answer claim an act that no tool call did?

Pure. Looked for are claims in the first person ("I've sent the mail", "Ich
habe die Datei gespeichert") and those without any person ("Datei
gespeichert.", "已发送"), in eight languages, sentence by sentence. What is
quoted, code, asked, denied, told of the past or of somebody else is no claim.
A verb that is also done by writing an answer (create, write, add) counts with
an object that is not: a file, a reminder, an event.
"""

from claw.agent.receipt.find import Call, is_unsupported

__all__ = ["Call", "is_unsupported"]
