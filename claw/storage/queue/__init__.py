"""The durable queue: inbox, outbox, leases (see model.py)."""
