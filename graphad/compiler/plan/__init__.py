"""From units to executables: storage of values, schedule, tiers.

The modules by subject:

    a graph that runs     executable, exclusive, refused, rounds
    on NumPy              host
    towards native code   tiers, known, schedule
    storage               buffers, places, inside, measured
    rows                  native, steps, nested, outcomes
    units in rows         blocks, branch, calls, library, repeat
"""
