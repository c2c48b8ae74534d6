"""The version, a constant: asking importlib.metadata costs 37 ms."""

__version__ = "0.1.0"
