"""Makes the C library keep the memory of freed large arrays, so that the next arrays need no fresh pages.

glibc returns what was freed at once: arrays above a threshold are mappings of their own, and the top of the heap is cut off where
more than twice the threshold lies free. Every array that an op then makes is filled with fresh pages, each of which costs the
system a fault: for 1e5 floats some 100 us, where the arithmetic takes 10 us. Both thresholds follow what a program has freed, up
to 32 MB; one array of that size, freed untouched, sets them. What is kept is then at most 64 MB for each thread's heap. A program
with `MALLOC_MMAP_THRESHOLD_` or `MALLOC_TRIM_THRESHOLD_` in its environment, or another C library, keeps what it has.
"""

from contextlib import suppress

import numpy as np

_LARGEST = (32 << 20) - (1 << 13)  # bytes; larger arrays do not count

with suppress(MemoryError):  # a process with a lower limit on memory keeps less
    np.empty(_LARGEST, np.uint8)
