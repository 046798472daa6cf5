"""Single flipped bits in the files of a data directory: detected, never served and never built upon.

`make flips FLIPS=1000` runs the long form. A kind of file is a subclass of `flips.kind.Kind`, listed in `flips.kinds`.
"""
