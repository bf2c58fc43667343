"""Whether a lake is as it was written, and mending what can safely be mended.

:mod:`.check` reads through Arrow's file systems, so a lake in an object store is checked like one on a
disk; it never writes. What it finds is :mod:`.findings`; :mod:`.repair` acts on the part that is safe.
The checks are pure functions of bytes (:mod:`.records`, :mod:`.episodes`, :mod:`.tables`,
:mod:`.journals`, :mod:`.sweeps`); :mod:`.source` reads them and :mod:`.layout` says what each file is.
"""
