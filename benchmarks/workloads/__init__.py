"""One module a workload. `run` is called in the environment of a system, with its store and the row's options.

It returns what it measured, by name; rates are a second, durations in seconds, sizes in bytes.
"""
