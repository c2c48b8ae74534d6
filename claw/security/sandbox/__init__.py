"""The sandbox around child processes; confine/ is its inside."""
