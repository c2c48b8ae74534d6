"""The process: one a workspace, watched, healthy."""
