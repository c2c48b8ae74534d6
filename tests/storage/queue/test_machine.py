"""Random work with random deaths, against a plain model of the queue."""

import asyncio
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from claw.core.channel import ChannelMessage, Part, SendMessage
from claw.core.errors import LeaseLostError
from claw.core.value import replace
from claw.storage.queue.model import (
    Arrival,
    Completion,
    HistoryOp,
    NewSend,
)
from claw.storage.queue.owner import this_process
from claw.storage.queue.sqlite import SqliteQueue

NAMES = st.sampled_from(["ann", "bob", "cy"])
CHATS = st.sampled_from(["1", "2"])


class QueueMachine(RuleBasedStateMachine):
    """`waiting`, `running` and `answered` hold message ids of each
    conversation in order; `chats` the open parts of each chat in order,
    as [text, state]; `gone` the texts that were sent or failed."""

    @initialize()
    def begin(self):
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = time.time()
        self.lives = []
        self.waiting, self.running = defaultdict(list), {}
        self.answered = defaultdict(list)
        self.chats, self.sent, self.failed = defaultdict(list), [], []
        self.seqs, self.retried = {}, set()
        self.number = 0
        self.live()

    def run(self, work):
        return self.loop.run_until_complete(work)

    def live(self):
        """A new process on the file; the one before is dead."""
        owner = replace(this_process(), started=f"life {len(self.lives)}")
        self.queue = SqliteQueue(
            Path(self.folder.name, "queue.db"), owner=owner,
            now=lambda: self.clock)
        self.lives.append(self.queue)
        self.lease = self.run(self.queue.lease("listen", 30))
        assert self.lease.fence == len(self.lives)

    def fresh(self):
        self.number += 1
        return str(self.number)

    # -- what comes in

    @rule(name=NAMES, again=st.booleans())
    def accept(self, name, again):
        number = self.fresh()
        arrivals = [Arrival(ChannelMessage(
            number, name, name, "hello", "telegram", 1), name)] * (1 + again)
        rows = self.run(self.queue.accept(self.lease, arrivals))
        assert [row is None for row in rows] == [False, True][:1 + again]
        self.waiting[name].append(number)

    @precondition(lambda self: self.number)
    @rule(data=st.data())
    def redeliver(self, data):
        known = [one for name in (*self.waiting, *self.answered)
                 for one in (*self.waiting[name], *self.answered[name])]
        if known:
            number = data.draw(st.sampled_from(known))
            assert self.run(self.queue.accept(self.lease, [Arrival(
                ChannelMessage(number, "x", "x", "again", "telegram", 1),
                "x")])) == [None]

    @rule(name=NAMES, most=st.integers(1, 3))
    def claim(self, name, most):
        claim = self.run(self.queue.claim(self.lease, name, most=most))
        if name in self.running or not self.waiting[name]:
            assert claim is None
            return
        expected = self.waiting[name][:most]
        assert [row.message.id for row in claim.rows] == expected
        del self.waiting[name][:most]
        self.running[name] = claim

    @precondition(lambda self: self.running)
    @rule(data=st.data(), chat=CHATS, parts=st.integers(0, 3),
          twice=st.booleans())
    def complete(self, data, chat, parts, twice):
        name = data.draw(st.sampled_from(sorted(self.running)))
        claim = self.running.pop(name)
        send, texts = self.new_send(f"turn:{claim.turn_id}", chat, parts)
        done = Completion("answered", sends=(send,),
                          history=(HistoryOp("append", {"n": 1}),))
        rows = self.run(self.queue.complete(self.lease, claim, done))
        assert [row.part.text for row in rows] == texts
        if twice:
            assert self.run(self.queue.complete(
                self.lease, claim, done)) == []
        self.posted(chat, rows)
        self.answered[name] += [row.message.id for row in claim.rows]

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def unclaim(self, data):
        name = data.draw(st.sampled_from(sorted(self.running)))
        self.put_back(name)
        self.run(self.queue.unclaim(self.lease, self.popped))

    def put_back(self, name):
        self.popped = self.running.pop(name)
        self.waiting[name] = [row.message.id for row in self.popped.rows
                              ] + self.waiting[name]

    # -- what goes out

    def new_send(self, source, chat, parts):
        texts = [self.fresh() for _ in range(parts)]
        return NewSend(source, "telegram", SendMessage("x", chat), tuple(
            Part("text", text) for text in texts)), texts

    def posted(self, chat, rows):
        self.seqs.update({row.part.text: row.seq for row in rows})
        self.chats[chat] += [[row.part.text, "waiting", row.source]
                             for row in rows]

    @rule(chat=CHATS, parts=st.integers(1, 3))
    def post(self, chat, parts):
        send, _ = self.new_send(f"send:{self.fresh()}", chat, parts)
        self.posted(chat, self.run(self.queue.post([send])))
        assert self.run(self.queue.post([send])) == []

    def due(self):
        return self.run(self.queue.due("telegram", self.clock, 10))

    @rule()
    def start_sending(self):
        for row in self.due()[:1]:
            self.run(self.queue.mark_sending(self.lease, row))
            self.queue.note_leaving(row)
            head = self.chats[row.message.recipient][0]
            assert head[0] == row.part.text
            head[1] = "sending"

    def in_sending(self):
        return [(chat, one) for chat, parts in self.chats.items()
                for one in parts if one[1] == "sending"]

    def row(self, text):
        return next(row for row in self.run(
            self.queue.outbox_rows(states=["sending"]))
            if row.part.text == text)

    @rule(end=st.sampled_from(["sent", "put off", "doubt", "failed"]))
    def finish_sending(self, end):
        for chat, one in self.in_sending()[:1]:
            row = self.row(one[0])
            if end == "sent":
                self.run(self.queue.mark_sent(self.lease, row, "id"))
                self.chats[chat].remove(one)
                self.sent.append(one[0])
            elif end == "failed":
                self.run(self.queue.mark_failed(self.lease, row, "no"))
                lost = [other for other in self.chats[chat]
                        if other[2] == one[2]
                        and self.seqs[other[0]] >= self.seqs[one[0]]]
                self.failed += [(chat, other) for other in lost]
                self.chats[chat] = [other for other in self.chats[chat]
                                    if other not in lost]
            else:
                doubt = end == "doubt"
                self.run(self.queue.put_off(
                    self.lease, row, self.clock + 10, "later",
                    uncertain=doubt))
                one[1] = "uncertain" if doubt or row.uncertain else "waiting"

    @rule()
    def wait(self):
        self.clock += 11

    @rule(jump=st.sampled_from([-1e6, 1e6]))
    def jump(self, jump):
        self.clock += jump

    @precondition(lambda self: self.failed)
    @rule()
    def retry(self):
        assert self.run(self.queue.retry()) == len(self.failed)
        for chat, one in self.failed:
            one[1] = None  # waiting, or in doubt as before
            self.chats[chat].append(one)
            self.chats[chat].sort(key=lambda part: self.seqs[part[0]])
        self.failed = []

    # -- death

    @rule()
    def die(self):
        old, old_lease = self.queue, self.lease
        claims, rows = dict(self.running), [
            self.row(one[0]) for _, one in self.in_sending()]
        for name in list(self.running):
            self.put_back(name)
        self.live()
        with pytest.raises(LeaseLostError):
            self.run(old.accept(old_lease, []))
        for claim in claims.values():
            with pytest.raises(LeaseLostError):
                self.run(old.complete(old_lease, claim,
                                      Completion("answered")))
        for row in rows:
            with pytest.raises(LeaseLostError):
                self.run(old.mark_sent(old_lease, row, None))
        lost = sum(len(claim.rows) for claim in claims.values())
        assert self.run(self.queue.recover(self.lease)) == lost + len(rows)
        for _, one in self.in_sending():
            one[1] = "uncertain"

    # -- what always holds

    @invariant()
    def nothing_is_lost(self):
        counts = self.run(self.queue.counts())
        assert counts.inbox["waiting"] == sum(map(len,
                                                  self.waiting.values()))
        assert counts.inbox["running"] == sum(
            len(claim.rows) for claim in self.running.values())
        assert counts.inbox["answered"] == sum(map(len,
                                                   self.answered.values()))
        assert counts.outbox["sent"] == len(self.sent)
        assert counts.outbox["failed"] == len(self.failed)
        assert counts.outbox["sending"] == len(self.in_sending())

    @invariant()
    def conversations_wait_that_have_rows(self):
        assert sorted(self.run(self.queue.waiting())) == sorted(
            name for name, rows in self.waiting.items() if rows)

    @invariant()
    def a_chat_sends_one_part_and_its_first(self):
        busy = [chat for chat, _ in self.in_sending()]
        assert len(busy) == len(set(busy))
        for row in self.due():
            chat = row.message.recipient
            assert chat not in busy
            assert self.chats[chat][0][0] == row.part.text
            assert self.chats[chat][0][1] in (row.state, None)

    def teardown(self):
        if not hasattr(self, "loop"):
            return
        try:
            self.finish_everything()
        finally:
            for queue in self.lives:
                self.run(queue.aclose())
            self.loop.close()
            self.folder.cleanup()

    def finish_everything(self):
        self.die()
        while names := self.run(self.queue.waiting()):
            for name in names:
                claim = self.run(self.queue.claim(self.lease, name, most=2))
                self.run(self.queue.complete(
                    self.lease, claim, Completion("answered")))
                self.answered[name] += [row.message.id
                                        for row in claim.rows]
        for rows in self.answered.values():
            assert [int(one) for one in rows] == sorted(map(int, rows))
            assert len(rows) == len(set(rows))
        self.clock += 11
        while rows := self.due():
            for row in rows:
                self.run(self.queue.mark_sending(self.lease, row))
                self.run(self.queue.mark_sent(self.lease, row, None))
                self.sent.append(row.part.text)
        texts = self.sent + [one[0] for _, one in self.failed]
        assert sorted(texts) == sorted(self.seqs)


QueueMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None,
    suppress_health_check=list(HealthCheck))
TestQueueMachine = QueueMachine.TestCase
