"""The benchmark of mounts: a loader reads the same frames from mounts and from folders of images.

``python -m bench.mount --help``, and docs/performance.md for what is measured and how to read it.
"""
