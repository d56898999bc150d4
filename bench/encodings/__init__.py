"""The benchmark of encodings: the same clips at equal PSNR, in bytes and in time to read frames.

``python -m bench.encodings --help``, and docs/transcode.md for what came of it.
"""
