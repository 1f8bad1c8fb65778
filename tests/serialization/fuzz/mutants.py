"""Changes of a decoded manifest that keep it a tree of the same kind, so that most mutants reach what runs.

A tree is the body of a manifest as nested lists, see `tests.serialization.convert.mutations`. Every change is made with numbers
from one generator: the same seed gives the same mutant everywhere.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from graphad.core.dtypes import DType, as_dtype
from graphad.core.registry import all_ops
from graphad.core.schema import split
from graphad.core.spec import HandleSpec, TensorSpec
from tests.serialization.convert import mutations

Random = random.Random
SIZES = [
    0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 64, 1000, 2**16, 2**31 - 1, 2**31, 2**33, 2**40, 2**62, -1, -2, -3, -5, -(2**31), -(2**63),
]  # fmt: skip
WORDS = "SAME VALID reflect symmetric both then else sum new ... ij,jk->ik ij->ji ii->i i-> uniform normal bits x".split()
DTYPES = ["float32", "float64", "int32", "int64", "bool", "uint8", "int8", "float16", "complex64"]
_NAME, _VERSION, _ATTRIBUTES = range(3)
_INPUTS, _CONSTANTS, _NODES, _OUTPUTS = 1, 2, 3, 4


def mutant(tree: Any, seed: int) -> Any:
    """The tree with one to three changes."""
    rng = Random(seed)
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        change = rng.choice(_CHANGES)
        try:
            changed = change(tree, rng)
        except (AttributeError, LookupError, TypeError, ValueError):
            continue  # an earlier change has left nothing to change here
        tree = tree if changed is None else changed
    return tree


# -- values ----------------------------------------------------------------------------------------------------------------


def _number(rng: Random, x: int) -> int:
    if rng.random() < 0.6:
        return x + rng.choice((-3, -2, -1, 1, 1, 2, 3, 8))
    return rng.choice(SIZES)


def _value(rng: Random, x: Any) -> Any:
    """Another value like x: values are trees in which lists begin with a tag."""
    if type(x) is bool:
        return not x
    if type(x) is int:
        return None if rng.random() < 0.1 else _number(rng, x)
    if type(x) is float:
        return rng.choice((0.0, -1.5, 1e308, float("nan"), float("inf"), x * 2))
    if type(x) is str:
        return rng.choice(WORDS)
    if x is None:
        return rng.choice((0, 1, 2, -1, True, [0], [0, 1], [0, 3], [0, None], [0, 1, 2]))
    if type(x) is list and x:
        if x[0] == 4:
            return [4, rng.choice(DTYPES)]
        if x[0] in (5, 6):
            return [x[0], max(0, x[1] + rng.choice((-2, -1, 1, 2)))]
        return _list(rng, x)
    return x


def _list(rng: Random, x: list[Any]) -> list[Any]:
    items, kind = x[1:], rng.randrange(6)
    if not items or kind == 0:
        items.insert(
            rng.randint(0, len(items)), copy.deepcopy(rng.choice(items)) if items else rng.choice(SIZES)
        )
    elif kind == 1:
        del items[rng.randrange(len(items))]
    elif kind == 2 and len(items) > 1:
        rng.shuffle(items)
    else:
        k = rng.randrange(len(items))
        items[k] = _value(rng, items[k])
    return [x[0], *items]


# -- ops -------------------------------------------------------------------------------------------------------------------


def _attribute(tree: Any, rng: Random) -> None:
    op = rng.choice([op for op in tree["ops"] if op[_ATTRIBUTES]])
    pair = rng.choice(op[_ATTRIBUTES])
    pair[1] = _value(rng, pair[1])


def _same_fields(tree: Any, rng: Random) -> None:
    """Another op with the same attributes."""
    op = rng.choice(tree["ops"])
    fields = tuple([name for name, _ in op[_ATTRIBUTES]])
    op[_NAME] = rng.choice([name for name, kind in sorted(all_ops().items()) if kind.attributes == fields])


def _version(tree: Any, rng: Random) -> None:
    rng.choice(tree["ops"])[_VERSION] += rng.choice((-1, 1, 2**20))


# -- graphs ----------------------------------------------------------------------------------------------------------------


def _graph(tree: Any, rng: Random) -> Any:
    return rng.choice(tree["graphs"])


def _node(tree: Any, rng: Random) -> tuple[Any, int, Any]:
    graph = rng.choice([graph for graph in tree["graphs"] if graph[_NODES]])
    k = rng.randrange(len(graph[_NODES]))
    return graph, k, graph[_NODES][k]


def _start(graph: Any, node: int) -> int:
    return len(graph[_INPUTS]) + len(graph[_CONSTANTS]) + sum(len(each[2]) for each in graph[_NODES][:node])


def _node_input(tree: Any, rng: Random) -> None:
    graph, k, node = _node(tree, rng)
    place = rng.randrange(len(node[1]))
    start = _start(graph, k)
    node[1][place] = rng.randrange(start) if rng.random() < 0.95 else start + rng.randrange(3)


def _node_arity(tree: Any, rng: Random) -> None:
    graph, k, node = _node(tree, rng)
    kind = rng.randrange(3)
    if kind == 0:
        del node[1][rng.randrange(len(node[1]))]
    elif kind == 1:
        node[1].insert(rng.randint(0, len(node[1])), rng.randrange(_start(graph, k)))
    else:
        rng.shuffle(node[1])


def _node_op(tree: Any, rng: Random) -> None:
    _node(tree, rng)[2][0] = rng.randrange(len(tree["ops"]))


def _node_spec(tree: Any, rng: Random) -> None:
    specs = _node(tree, rng)[2][2]
    kind = rng.randrange(6)
    if kind == 0 and specs:
        del specs[rng.randrange(len(specs))]
    elif kind == 1:
        specs.append(rng.randrange(len(tree["specs"])))
    else:
        specs[rng.randrange(len(specs))] = rng.randrange(len(tree["specs"]))


def _node_order(tree: Any, rng: Random) -> None:
    graph, k, node = _node(tree, rng)
    if rng.random() < 0.5:
        del graph[_NODES][k]
    else:
        other = rng.randrange(len(graph[_NODES]))
        graph[_NODES][k], graph[_NODES][other] = graph[_NODES][other], node


def _graph_outputs(tree: Any, rng: Random) -> None:
    graph = _graph(tree, rng)
    outputs, end = graph[_OUTPUTS], _start(graph, len(graph[_NODES]))
    kind = rng.randrange(6)
    if kind == 0:
        del outputs[rng.randrange(len(outputs))]
    elif kind == 1:
        outputs.append(rng.randrange(end))
    elif kind == 2:
        rng.shuffle(outputs)
    else:
        outputs[rng.randrange(len(outputs))] = rng.randrange(end)


def _graph_inputs(tree: Any, rng: Random) -> None:
    inputs = _graph(tree, rng)[_INPUTS]
    inputs[rng.randrange(len(inputs))] = rng.randrange(len(tree["specs"]))


def _constant(tree: Any, rng: Random) -> None:
    constants = rng.choice([graph[_CONSTANTS] for graph in tree["graphs"] if graph[_CONSTANTS]])
    array = rng.choice(constants)
    if array[0] != 0 or not array[3]:
        return
    kind = rng.randrange(4)
    if kind == 0:
        array[1] = rng.choice(DTYPES)
    elif kind == 1:
        array[2] = rng.choice(([], [1], [len(array[3])], [1, *array[2]]))
    elif array[1] == "bool":
        array[3] = bytes([rng.randrange(2) for _ in array[3]])
    else:
        width = as_dtype(array[1]).itemsize
        data = bytearray(array[3])
        place = rng.randrange(len(data) // width) * width
        data[place : place + width] = (_number(rng, data[place]) & (256**width - 1)).to_bytes(width, "little")
        array[3] = bytes(data)


# -- claims ----------------------------------------------------------------------------------------------------------------


def _spec(tree: Any, rng: Random) -> None:
    spec = rng.choice(tree["specs"])
    kind = rng.randrange(8)
    if kind == 0:
        spec[0] = rng.choice(DTYPES)
    elif kind == 1:
        spec[1] = None
    elif kind == 2:
        spec[3] = 1 - spec[3]
    elif kind == 3:
        (spec[1] or []).insert(0, rng.choice((1, 2, 3, None)))
    elif kind == 4 and spec[1]:
        del spec[1][rng.randrange(len(spec[1]))]
    elif spec[1]:
        k = rng.randrange(len(spec[1]))
        size = spec[1][k]
        spec[1][k] = rng.choice((None, 2, 3)) if size is None else rng.choice((None, _number(rng, size)))
    else:
        spec[1] = rng.choice(([], [3], [2, 3], [None]))


# -- functions and tables --------------------------------------------------------------------------------------------------


def _concrete(tree: Any, rng: Random) -> Any:
    return rng.choice(rng.choice([function for function in tree["functions"] if function[3]])[3])


def _function(tree: Any, rng: Random) -> None:
    concrete = _concrete(tree, rng)
    kind = rng.randrange(4)
    if kind == 0:
        concrete[3] = rng.randrange(len(tree["graphs"]))
    elif kind == 1:
        concrete[2] = _value(rng, concrete[2])
    elif kind == 2:
        concrete[1] = _value(rng, concrete[1])
    else:
        captures = concrete[4]
        rng.shuffle(captures)


def _swapped(tree: Any, rng: Random) -> None:
    table = tree[rng.choice(("ops", "specs", "graphs", "specs", "objects", "rules"))]
    a, b = rng.randrange(len(table)), rng.randrange(len(table))
    table[a], table[b] = table[b], table[a]


def _rule(tree: Any, rng: Random) -> None:
    rule = rng.choice(tree["rules"])
    kind = rng.randrange(3)
    if kind == 0:
        rule[1] = rng.randrange(len(tree["graphs"]))
    elif kind == 1:
        rule[3] = [not each for each in rule[3]]
    else:
        rule[4] = []


def _anything(tree: Any, rng: Random) -> Any:
    return mutations.mutated(tree, mutations.paths(tree), rng.randrange)


# -- a node of any op, with attributes and operands that its own `infer` takes --------------------------------------------------


def _wild(tree: Any, rng: Random) -> None:
    """Put in a node of any op, claim of it no more than its dtype, and give it out in place of another result."""
    graph = _graph(tree, rng)
    position = rng.randint(0, len(graph[_NODES])) if rng.random() < 0.3 else len(graph[_NODES])
    known = _specs_of(tree, graph, position)
    for _ in range(40):
        made = _wild_op(rng, known)
        if made is not None:
            break
    else:
        return
    name, attributes, inputs, outputs = made
    tree["ops"].append([name, all_ops()[name].version, [[field, x] for field, x in attributes]])
    numbers = []
    for spec in outputs:
        dims = None if rng.random() < 0.3 else _dims(spec.dims)
        tree["specs"].append([spec.dtype.name, dims, None, 0])
        numbers.append(len(tree["specs"]) - 1)
    start = _start(graph, position)
    for node in graph[_NODES][position:]:
        node[1] = [value + len(numbers) if value >= start else value for value in node[1]]
    graph[_OUTPUTS] = [value + len(numbers) if value >= start else value for value in graph[_OUTPUTS]]
    graph[_NODES].insert(position, [len(tree["ops"]) - 1, inputs, numbers, None])
    if graph[_OUTPUTS] and numbers:
        value = start + rng.randrange(len(numbers))
        spec = outputs[value - start]
        if spec.dtype.is_floating:  # read by a native step
            tree["ops"].append(["tanh", 1, []])
            tree["specs"].append([spec.dtype.name, None, None, 0])
            graph[_NODES].append([len(tree["ops"]) - 1, [value], [len(tree["specs"]) - 1], None])
            value = _start(graph, len(graph[_NODES]) - 1)
        graph[_OUTPUTS][rng.randrange(len(graph[_OUTPUTS]))] = value


def _dims(dims: Any) -> Any:
    return None if dims is None else [size if type(size) is int else None for size in dims]


def _specs_of(tree: Any, graph: Any, position: int) -> list[TensorSpec]:
    def spec(number: int) -> TensorSpec:
        dtype, shape, _, kind = tree["specs"][number]
        return (HandleSpec if kind else TensorSpec)(shape, dtype)

    found = [spec(i) for i in graph[_INPUTS]]
    found += [
        TensorSpec(array[2], array[1]) if array[0] == 0 else TensorSpec(None) for array in graph[_CONSTANTS]
    ]
    for node in graph[_NODES][:position]:
        found += [spec(i) for i in node[2]]
    return found


def _wild_op(rng: Random, known: list[TensorSpec]) -> Any:
    names = [name for name, kind in sorted(all_ops().items()) if not kind.live and not kind.structured]
    name = rng.choice(names)
    kind = all_ops()[name]
    attributes = [(field, _attribute_of(rng, str(kind.declared[field]), field)) for field in kind.attributes]
    inputs = [rng.randrange(len(known)) for _ in range(rng.choice((1, 1, 2, 2, 3)))] if known else []
    for count in range(len(inputs), -1, -1):
        try:
            op = kind(*[_python(x) for _, x in attributes])
            inferred = op.infer(*[known[i] for i in inputs[:count]])
        except Exception:  # what infer does not take is not a node
            continue
        outputs = inferred if kind.multiple else (inferred,)
        if all(type(spec) is TensorSpec for spec in outputs):
            return name, attributes, inputs[:count], outputs
    return None


def _attribute_of(rng: Random, declared: str, field: str) -> Any:
    """An attribute of a declared type, as a file holds it."""
    options = split(declared, "|")
    if len(options) > 1:
        return _attribute_of(rng, rng.choice(options).strip(), field)
    head, _, inner = declared.partition("[")
    if head == "Given":
        return _given(rng, _attribute_of(rng, inner[:-1], field))
    if head == "Literal":
        return rng.choice([word.strip().strip('"') for word in inner[:-1].split(",")])
    small = rng.choice((0, 0, 1, 1, 2, 3, -1, -2, 4, 6))
    if declared in ("int", "Any", "Axis", "Offset", "Limit", "Number"):
        return small
    if declared == "Step":
        return small or 1
    if declared == "Places":
        return [0, *rng.sample(range(4), rng.randrange(3))]
    if declared in ("Count", "Positive"):
        return abs(small)
    if declared == "Axes":
        return [0, *rng.sample(range(-2, 3), rng.randrange(3))]
    if declared == "Permutation":
        return [0, *rng.sample(range(3), 3)]
    if declared == "Size":
        return rng.choice((0, 1, 2, 3, 4, 6, 12, 1000))
    if declared == "bool":
        return rng.random() < 0.5
    if declared == "float":
        return rng.choice((0.0, 1.0, -2.5))
    if declared == "DType":
        return [4, rng.choice(DTYPES)]
    if declared in ("str", "Text", "Equation"):
        return rng.choice(WORDS)
    if declared == "None":
        return None
    if declared == "Padding":
        return rng.choice(("SAME", "VALID", [0, [0, 1, 1], [0, 0, 2]]))
    if declared == "Pairs":
        return [0, *[[0, rng.randrange(3), rng.randrange(3)] for _ in range(rng.randrange(4))]]
    if declared == "Key":
        return [0, *[_key_entry(rng) for _ in range(rng.randrange(4))]]
    if declared.startswith("tuple["):
        item = declared[6:-1]
        if item.endswith(", ..."):
            return [0, *[_attribute_of(rng, item[:-5], field) for _ in range(rng.randrange(4))]]
        return [0, *[_attribute_of(rng, part.strip(), field) for part in item.split(",")]]
    return small


def _given(rng: Random, x: Any) -> Any:
    """Sizes of which some refer to inputs."""

    def reference() -> Any:
        return rng.choice(
            ([0, "at", rng.choice((1, 1, 2, 0))], [0, "at", 1, rng.randrange(3)], [0, "all", 1])
        )

    if type(x) is not list:
        return reference() if rng.random() < 0.3 else x
    return [0, *[reference() if rng.random() < 0.3 else item for item in x[1:]]]


def _key_entry(rng: Random) -> Any:
    def bound() -> Any:
        return rng.choice((None, 0, 1, 2, -1, -2, 5, [0, "at", 1], [0, "at", 2]))

    return rng.choice(
        (
            rng.choice((0, 1, -1, 2)),
            "new",
            "...",
            [0, "at", 1],
            [
                0,
                "slice",
                bound(),
                bound(),
                rng.choice((None, 1, 2, -1, -2)),
                rng.choice((None, None, 2, 3, 1000)),
            ],
        )
    )


def _python(x: Any) -> Any:
    """A value of a file as the op takes it."""
    if type(x) is list:
        return (
            as_dtype(x[1])
            if x and x[0] == 4 and type(x[1]) is str
            else tuple([_python(item) for item in x[1:]])
        )
    assert not isinstance(x, DType)
    return x


_CHANGES: list[Callable[[Any, Random], Any]] = [
    *[_attribute] * 6, *[_wild] * 6, *[_node_input] * 3, _node_arity, *[_node_op] * 2, *[_node_spec] * 2, _node_order,
    *[_graph_outputs] * 2, *[_graph_inputs] * 2, *[_constant] * 3, *[_spec] * 4, _function, _swapped, _same_fields, _version,
    _rule, *[_anything] * 2,
]  # fmt: skip
