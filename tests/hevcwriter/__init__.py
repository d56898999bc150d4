"""Writes random H.265 streams of known content, with whatever its syntax of references allows.

Each coding tree block is either PCM or a copy of the block in the same place of an entry of a
reference list (no motion, no residual), so that a wrong reference shows, and so that what a decoder
must show is known without one. Unlike x265 this covers long-term pictures with and without MSB,
BLA and CRA pictures in the middle, RASL and RADL pictures, small MaxPicOrderCntLsb, pictures that
are not output, list modification, reference picture sets predicted from each other, slices of
different kinds, dependent slice segments, tiles, sub-layers, and parameter sets that change.
"""
