"""ITU-T H.264: header syntax, picture order, reference marking and state-only pictures."""
