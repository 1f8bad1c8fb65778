"""The native runtime: one call from Python runs a whole compiled plan.

`plan_block` lays a plan out in one int64 array, `entry` makes the builtins that check arguments, fill in
their addresses and walk the step table, `blas` and `movement` are ready-made steps, `pool` shares the rows of
a region among sleeping threads. Everything native is LLVM IR text printed by `assembly` and made callable by
`native`; llvmlite is imported at first use, Numba never.

The modules by subject:

    a plan's call         plan_block, entry, entry_text, entry_ctypes, layout, driver
    threads               pool, limit
    steps of plans        movement, indexing, placing, measuring, counted, masking, ordering, searching, rolling, drawing, calls,
                          branch, repeat, growing
    matrices              lapack, factorising, pivoting
    functions of arrays   mapping, recurring
    NumPy's own loops     numpy_loops, ufuncs, combining, transforming
    products              blas, blas_text, multiplying, tiles_text, convolving, convolving_text, convolving_lines,
                          convolving_few, convolving_sizes, convolved
    text into code        native
"""
