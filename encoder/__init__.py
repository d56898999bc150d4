"""Sources to encodings made for random access, each checked before it is put in place.

Knows nothing of what mounts show, of FUSE or of the command line.
"""
