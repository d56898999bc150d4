"""The benchmark against other ways to read frames by number; imported by nobody.

``python -m bench --help``, and docs/benchmark.md for what is measured and how to read it.
"""
