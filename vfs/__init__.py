"""The frames of a corpus as files in a tree: names, formats, caches, and the way to FUSE."""
