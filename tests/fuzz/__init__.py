"""A differential fuzzer: random well-typed programs, run in every mode of the library, and compared.

A program is plain data (`program.py`) that prints as Python source with the library as `tf`, so that the same text runs under
graphad and under TensorFlow and is its own reproducer. It is grown (`grow.py`) from tables of signatures (`elementwise.py`,
`arrays.py`, `reductions.py`, `algebra.py`, `networks.py`, `structures.py`; for wide seeds `flow.py` and `wide.py`), measured
(`derive.py`: values, first and second derivatives, Jacobians) in each mode (`modes.py`), and the results are
compared within what rounding explains (`compare.py`). Programs with differences are minimised (`shrink.py`).

Programs whose sizes only the run finds have a grower of their own, `sizes.py`, whose calls change these sizes.

    python -m tests.fuzz --seconds 60                 # fresh seeds, graphad with itself and with finite differences
    python -m tests.fuzz --seconds 3600 --tensorflow  # in an environment that has TensorFlow: its numbers are the reference
    python -m tests.fuzz --wide --verify --seconds 60 # with Python's control flow and newer ops; every eval checked
    python -m tests.fuzz --program 12345              # print one program and what each mode gives
"""
