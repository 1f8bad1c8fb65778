"""Models in files.

model -> object graph -> records -> bytes, and back. `wire` handles bytes, `schema` defines the records of a file, `storage`
puts both into a directory with one commit point. FORMAT.md is the specification; loading a file
never executes anything.
"""
