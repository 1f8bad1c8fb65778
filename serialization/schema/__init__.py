"""The contents of a file: immutable records, their codecs, and the rules of a well-formed model.

It is independent of ops, graph classes and module classes: only `convert` connects records and graphad.
"""
