"""What a command may change and must not decide alone: the files that go
into every prompt, and what git runs."""
