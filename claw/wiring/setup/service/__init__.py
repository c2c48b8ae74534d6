"""claw listen as a service of this user: systemd, and launchd on a Mac.

units.py     the files, as text
manager.py   the service manager that is here
"""
