"""Nests: leaves in a fixed order, and other leaves put back into the same structure."""

from __future__ import annotations

from collections import ChainMap, Counter, OrderedDict, defaultdict, namedtuple

import pytest

import graphad as tf
from graphad.core.nest import flatten, flatten_tree, map_leaves

Pair = namedtuple("Pair", "left right")


class Listed(list):
    """A list with a name of its own."""


@pytest.mark.parametrize(
    ("nest", "leaves"),
    [
        (1, [1]),
        (None, [None]),
        ([], []),
        ({}, []),
        ([1, None], [1, None]),
        ((1, [2, {"b": 4, "a": 3}]), [1, 2, 3, 4]),
        (Pair([1], {"x": 2}), [1, 2]),
        ([Pair(1, 2), Pair(3, (4,))], [1, 2, 3, 4]),
        (OrderedDict([("b", 1), ("a", [2])]), [2, 1]),
        (defaultdict(list, a=[1], b=2), [1, 2]),
        ({2: "b", 1: "a"}, ["a", "b"]),
        ("text", ["text"]),
        ({1, 2}, [{1, 2}]),
    ],
)
def test_leaves_come_in_order_and_go_back(nest, leaves):
    found, rebuild = flatten(nest)
    assert found == leaves
    rebuilt = rebuild(found)
    assert rebuilt == nest
    assert type(rebuilt) is type(nest)
    replaced = rebuild([(leaf, "new") for leaf in leaves])
    assert type(replaced) is type(nest) or not isinstance(nest, list | tuple | dict)


def test_subclasses_of_list_are_lists():
    leaves, rebuild = flatten([Listed([1, Listed([2])]), 3])
    assert leaves == [1, 2, 3]
    assert rebuild([4, 5, 6]) == [[4, [5]], 6]


def test_structures_compare_by_form():
    first, second = flatten_tree(([1, 2], {"a": 3})), flatten_tree(([5, None], {"a": "x"}))
    assert first[2] == second[2]
    assert hash(first[2]) == hash(second[2])
    assert first[2] != flatten_tree(((1, 2), {"a": 3}))[2]
    assert first[2] != flatten_tree(([1, 2], {"b": 3}))[2]
    assert first[2].paths() == [(0, 0), (0, 1), (1, "a")]


@pytest.mark.parametrize(
    "mapping", [Counter("aab"), ChainMap({"a": 1}, {"b": 2})], ids=["Counter", "ChainMap"]
)
def test_mappings_of_other_classes_keep_keys_and_class(mapping):
    found = tf.nest.map_structure(lambda x: x + 1, mapping)
    assert type(found) is type(mapping)
    assert dict(found) == {key: value + 1 for key, value in mapping.items()}


def test_map_leaves():
    assert map_leaves(lambda x: x + 1, {"a": [1, (2,)]}) == {"a": [2, (3,)]}


def test_an_ordered_dict_is_visited_by_sorted_key_and_keeps_its_order():
    nest = OrderedDict([("b", 1), ("a", OrderedDict([(2, 3), (1, 4)]))])
    leaves, rebuild, tree = flatten_tree(nest)
    assert leaves == [4, 3, 1]
    rebuilt = rebuild(leaves)
    assert list(rebuilt) == ["b", "a"] and list(rebuilt["a"]) == [2, 1] and type(rebuilt["a"]) is OrderedDict
    assert tree.paths() == [("a", 1), ("a", 2), ("b",)]
    assert tree == flatten_tree(nest)[2] and hash(tree) == hash(flatten_tree(nest)[2])


def test_without_check_types_only_the_numbers_of_entries_count():
    pair = namedtuple("pair", "a b")
    for one, other in (
        (pair(1, 2), {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, [1, 2]),
        ({"a": 1, "b": 2}, {"a": 1, "c": 2}),
        (pair(1, [2]), {"a": 1, "b": (2,)}),
    ):
        tf.nest.assert_same_structure(one, other, check_types=False)
        with pytest.raises((TypeError, ValueError)):
            tf.nest.assert_same_structure(one, other)
    with pytest.raises(ValueError, match="same number of elements"):
        tf.nest.assert_same_structure({"a": 1, "b": 2}, [1], check_types=False)
