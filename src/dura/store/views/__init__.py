"""What the monitor shows: one noun a module, each a function of a `Look` that returns records. All of it only reads.

No query costs more the more the store holds. Each is a range read of an index that LIMIT ends, or runs against the clock
and says when it was cut short.
"""
