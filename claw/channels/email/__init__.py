"""Mail: a mailbox read over IMAP, answers sent over SMTP."""
