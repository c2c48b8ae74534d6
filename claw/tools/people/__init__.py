"""Tools that reach people and their conversations."""
