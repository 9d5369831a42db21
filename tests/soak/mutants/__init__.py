"""Small changes of the source that tests must notice: a generator of them, and a catalogue of broken promises.

``python -m tests.soak.mutants ROOM`` makes mutants of a room, ``python -m tests.soak.mutants --catalogue`` tries those
of ``catalogue.toml``.
"""
