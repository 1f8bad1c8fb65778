"""Models in files.

model -> object graph -> records -> bytes, and back. `wire` knows bytes, `schema` knows what a file may say,
`storage` joins them into a directory with one commit point. FORMAT.md is the specification; loading a file
never executes anything.
"""
