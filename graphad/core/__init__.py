"""The ground floor: types, errors, ops, and `bind`, the one door through which every op passes.

Nothing here imports from another part of graphad.
"""
