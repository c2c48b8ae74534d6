"""A copy of everything that claw keeps, in one file.

collect.py   what goes in, and in which order
draft.py     where a backup is written before it has its name
archive.py   the file: a tar whose last member says what is in it
seal.py      the same, encrypted with a passphrase
rows.py      the rows of a database, counted by rows_child.py
restore.py   a checked archive in the place of what is there
journal.py   what finishes a restore that was killed
"""
