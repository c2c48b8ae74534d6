"""A webhook: its messages, the statuses of ours, and changes of people.

One webhook may hold several entries and messages, for several numbers of
ours: only those of our own number are taken.
"""

from claw.channels.whatsapp.intake import Intake, identify
from claw.channels.whatsapp.sent import Deliveries
from claw.channels.whatsapp.signed import read_challenge
from claw.channels.whatsapp.wire import (
    Change,
    Message,
    Who,
    find_sender,
    read_changes,
    read_number,
    read_user_id,
)
from claw.core.abilities import (
    Delivery,
    TakesReports,
    WebhookCall,
    WebhookRefused,
)
from claw.core.channel import ChannelDeps, ChannelMessage
from claw.text.segment import clean

# What says nothing that has to be answered.
_SILENT = ("reaction", "revoke", "ephemeral", "request_welcome")
_MOVES = ("user_changed_number", "customer_changed_number",
          "user_changed_user_id")
_DONE = {"status": "ok"}


class Receiver:
    """Reads webhooks for one number."""

    def __init__(self, number_id: str, intake: Intake,
                 deliveries: Deliveries, deps: ChannelDeps) -> None:
        self._number_id = number_id
        self._intake = intake
        self._deliveries = deliveries
        self._deps = deps
        self._others: set[str] = set()

    async def read(self, call: WebhookCall) -> Delivery:
        """What a verified call brought. Raises WebhookRefused."""
        if call.method == "GET":
            return Delivery((), read_challenge(call))
        try:
            changes = read_changes(call.body)
        except ValueError as error:
            raise WebhookRefused(400, str(error)) from error
        found: list[ChannelMessage] = []
        for change in changes:
            if self._is_ours(change):
                found += await self._read(change)
        return Delivery(tuple(found), _DONE)

    def _is_ours(self, change: Change) -> bool:
        if change.phone_number_id == self._number_id:
            return True
        if change.phone_number_id not in self._others \
                and len(self._others) < 100:
            self._others.add(change.phone_number_id)
            self._deps.log("other_number_ignored",
                           phone_number_id=change.phone_number_id[:40])
        return False

    async def _read(self, change: Change) -> list[ChannelMessage]:
        if change.unread:
            self._deps.log("unreadable_ignored", count=change.unread)
        for status in change.statuses:
            report = self._deliveries.note(status)
            if report and isinstance(self._intake.inbox, TakesReports):
                await self._intake.inbox.report(report)
        found = []
        for raw, message in change.messages:
            if message.group_id:
                self._deps.log("group_ignored", group=message.group_id[:80])
                continue
            if message.type == "system":
                self._note_system(message)
                continue
            who = find_sender(message, change.contacts)
            if message.type in _SILENT or not identify(who).id:
                continue
            # Ahead of all else: an answer to a stranger needs the window.
            self._deliveries.note_heard(
                who, message.at, keep=not self._intake.door.allowed
                .is_stranger(identify(who)))
            if built := await self._intake.read(message, raw, who):
                found.append(built)
        return found

    def _note_system(self, message: Message) -> None:
        """A person has another number or user id: what is kept under the
        old one follows."""
        report = message.system
        if report is None or report.type not in _MOVES:
            self._deps.log("system_message", kind=clean(
                report.type if report else "unknown")[:80])
            return
        old = Who(read_number(report.customer)
                  or read_number(message.sender),
                  read_user_id(report.previous_user_id)
                  or read_user_id(message.sender))
        new = Who(read_number(report.wa_id) or read_number(report.new_wa_id),
                  read_user_id(report.user_id))
        allowed = self._intake.door.allowed
        if not identify(old).id or allowed.is_stranger(identify(old)):
            return
        for before, after in ((old.number, new.number),
                              (old.user_id, new.user_id)):
            if before and after and before != after:
                self._deps.carry_over(before, after)
                allowed.move(before, after)
                self._deps.log("person_moved", old=before, new=after)
