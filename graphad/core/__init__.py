"""The ground floor: types, errors, ops, and `bind`, the one door through which every op passes.

Nothing here imports from another part of graphad.

The modules by subject:

    values                dtypes, dims, dimension, shapes, spec, tensor, indexed_slices, sparse, device,
                          floatx
    ops                   op, composed, interning, inputs, schema, references, row_access, run_sizes, kinds, registry,
                          annotations
    the door              levels, bind, scopes, leaving, convert, conversions, names
    nests                 nest, nest_functions, composites
    parts of models       trackable, registered, configured, tree
    imports, names        finding, late, absent, outside, arithmetic, guests, enabled, light, texts
    errors                errors, foreign_errors, rule_errors, escapes, refusal, blame, frames, recursion, tracebacks
    arrays                arrays, ieee, dlpack, owners, pages
    threads, forks        forks, turns, collector, memo
    settings and output   flags, logs, printed, progress, html, version
"""
