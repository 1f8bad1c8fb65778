"""What a file says: immutable records, the codec of each, and the rules that make them a well-formed model.

Knows no op, no graph class and no module class: only `convert` brings records and graphad together.
"""
