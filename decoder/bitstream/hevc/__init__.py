"""ITU-T H.265: header syntax, picture order, reference picture sets and output order."""
