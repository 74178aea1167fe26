"""The store: the one SQLite file, and the only rooms that speak SQL.

`database` is the door (connections, turns, transactions), `schema` and `upgrade` decide what a file is and bring it up to
date, and each other room is one kind of operation. Their functions take an open transaction and never read a clock.
"""
