"""Asking the owner before a tool runs.

A yes is bound to the hash of tool, arguments and working directory, is
good once and for a few minutes; "always" holds for that same call until
the process ends. Where nobody can be asked the answer is no, at once.
"""

from claw.security.approval.approvers import (
    NoApprover,
    SaysYes,
    TerminalApprover,
)
from claw.security.approval.manager import (
    ApprovalManager,
    AuditEntry,
    Preview,
)
from claw.security.approval.question import (
    describe_call,
    describe_change,
    explain_answers,
    is_answer,
    name_content,
    parse_decision,
    prompt,
    summary,
    write_call,
)
from claw.security.approval.rules import (
    AsksOwner,
    CarriesOut,
    ChecksArguments,
    PreviewsChange,
    ReadsSometimes,
    approval_key,
    is_sink,
    leads_elsewhere,
    needs_approval,
)

__all__ = [
    "ApprovalManager",
    "AsksOwner",
    "AuditEntry",
    "CarriesOut",
    "ChecksArguments",
    "NoApprover",
    "Preview",
    "PreviewsChange",
    "ReadsSometimes",
    "SaysYes",
    "TerminalApprover",
    "approval_key",
    "describe_call",
    "describe_change",
    "explain_answers",
    "is_answer",
    "is_sink",
    "leads_elsewhere",
    "name_content",
    "needs_approval",
    "parse_decision",
    "prompt",
    "summary",
    "write_call",
]
