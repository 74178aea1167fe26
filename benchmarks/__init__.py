"""Benchmarks of dura against its peers, by one command: `make bench`, or `make bench-quick`."""
