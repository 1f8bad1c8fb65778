"""Records of a model: functions with their signatures, the object graph, what is stored beside the manifest.

Everything refers by number into the tables of `ModelRecord`; only graphs may not form cycles.
"""

from __future__ import annotations

from typing import TypeAlias

from serialization.schema.graph import GRAPH, OP, RULE, GraphRecord, OpRecord, RuleRecord
from serialization.schema.values import (
    DTYPE,
    INLINE_ARRAY,
    SHAPE,
    SIZES,
    SPEC,
    STORED_ARRAY,
    VALUE,
    VALUES,
    Dim,
    InlineArray,
    SpecRecord,
    StoredArray,
    Value,
)
from serialization.wire.arrays import TensorRecord
from serialization.wire.codec import (
    DATA,
    FLAG,
    INDEX,
    TEXT,
    Data,
    Document,
    Extended,
    Fields,
    Integer,
    Many,
    Maybe,
    Pair,
    Tagged,
)
from serialization.wire.record import Record


class FeatureRecord(Record):
    """An addition to the format that this file uses."""

    name: str
    required: bool
    data: bytes


POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = range(5)


class Default(Record):
    """A default value: apart from "no default", which is None in its place."""

    value: Value


class ParameterRecord(Record):
    """One parameter of a Python signature; kinds are numbered as in `inspect`."""

    name: str
    kind: int
    default: Default | None = None


class VariableCapture(Record):
    """The variable, or the state of the generator, that is this object of the object graph."""

    object: int


CaptureRecord: TypeAlias = InlineArray | StoredArray | VariableCapture


class ConcreteRecord(Record):
    """One graph of a function: its arguments and results.

    Specs in `inputs`, from left to right, are the first inputs of the graph, `captures` the rest.
    """

    name: str
    inputs: Value
    outputs: Value
    graph: int
    captures: tuple[CaptureRecord, ...] = ()


class FunctionRecord(Record):
    """A polymorphic function."""

    name: str
    parameters: tuple[ParameterRecord, ...]
    input_signature: Value
    concretes: tuple[ConcreteRecord, ...]
    options: tuple[tuple[str, Value], ...] = ()


class ModuleNode(Record):
    """A module or other user object. `class_name` is a label; nothing is ever imported by it."""

    class_name: str
    attributes: tuple[tuple[str, Value], ...] = ()


class VariableNode(Record):
    """A variable; `tensor` names its value among the payloads."""

    name: str
    dtype: str
    shape: tuple[Dim, ...] | None
    trainable: bool
    tensor: str
    synchronization: int = 0
    aggregation: int = 0


class FunctionNode(Record):
    """A function, or one concrete function of it."""

    function: int
    concrete: int | None = None


class NoneNode(Record):
    """None: replaces an item of a list or tuple that cannot be saved."""


class ListNode(Record):
    """A list; its items are the children "0", "1", ..."""


class DictNode(Record):
    """A dict; children carry its keys, or with `keys` given, "0", "1", ... in their order."""

    keys: tuple[Value, ...] | None = None


class TupleNode(Record):
    """A tuple, or with fields a named tuple."""

    class_name: str | None = None
    names: tuple[str, ...] | None = None


class AssetNode(Record):
    """A file among the assets."""

    asset: int


class SignaturesNode(Record):
    """The map of signatures, as an object of the object graph."""


class GeneratorNode(Record):
    """A generator of random numbers: its state, or with `tensor` None the process's own, the global one or that of a seed."""

    seed: int | None
    tensor: str | None


Node: TypeAlias = (
    ModuleNode
    | VariableNode
    | FunctionNode
    | ListNode
    | DictNode
    | TupleNode
    | AssetNode
    | SignaturesNode
    | GeneratorNode
    | NoneNode
)


class ObjectRecord(Record):
    """One object and its named children."""

    node: Node
    children: tuple[tuple[str, int], ...] = ()


class SignatureRecord(Record):
    """An entry of `loaded.signatures`: keywords for the inputs, keys for the outputs, of one concrete function."""

    key: str
    function: int
    concrete: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class PayloadRecord(Record):
    """One file of `variables/`; its name, size and offsets follow from this."""

    tensors: tuple[TensorRecord, ...]
    checks: bytes
    sha256: bytes | None = None


class AssetRecord(Record):
    """One file of `assets/`."""

    name: str
    size: int
    sha256: bytes


class ModelRecord(Record):
    """The contents of a manifest. `write_model` fills in `payloads` and `assets`."""

    producer: str
    features: tuple[FeatureRecord, ...] = ()
    specs: tuple[SpecRecord, ...] = ()
    ops: tuple[OpRecord, ...] = ()
    lines: tuple[str, ...] = ()
    graphs: tuple[GraphRecord, ...] = ()
    rules: tuple[RuleRecord, ...] = ()
    functions: tuple[FunctionRecord, ...] = ()
    objects: tuple[ObjectRecord, ...] = ()
    signatures: tuple[SignatureRecord, ...] = ()
    payloads: tuple[PayloadRecord, ...] = ()
    assets: tuple[AssetRecord, ...] = ()


_NAMES = Many(TEXT)
_NAMED_VALUES = Many(Pair(VALUE))

FEATURE = Fields(FeatureRecord, name=TEXT, required=FLAG, data=DATA)
PARAMETER = Fields(
    ParameterRecord,
    name=TEXT,
    kind=Integer(POSITIONAL_ONLY, VAR_KEYWORD),
    default=Maybe(Fields(Default, value=VALUE)),
)
VARIABLE_CAPTURE = Fields(VariableCapture, object=INDEX)
CONCRETE = Fields(
    ConcreteRecord,
    name=TEXT,
    inputs=VALUE,
    outputs=VALUE,
    graph=INDEX,
    captures=Many(Tagged(INLINE_ARRAY, STORED_ARRAY, VARIABLE_CAPTURE)),
)
FUNCTION = Fields(
    FunctionRecord,
    name=TEXT,
    parameters=Many(PARAMETER),
    input_signature=VALUE,
    concretes=Many(CONCRETE),
    options=_NAMED_VALUES,
)
NODES = Tagged(
    Fields(ModuleNode, class_name=TEXT, attributes=_NAMED_VALUES),
    Extended(
        VariableNode,
        2,
        name=TEXT,
        dtype=DTYPE,
        shape=SHAPE,
        trainable=FLAG,
        tensor=TEXT,
        synchronization=Integer(0, 3),
        aggregation=Integer(0, 3),
    ),
    Fields(FunctionNode, function=INDEX, concrete=Maybe(INDEX)),
    Fields(ListNode),
    Fields(DictNode, keys=Maybe(VALUES)),
    Fields(TupleNode, class_name=Maybe(TEXT), names=Maybe(_NAMES)),
    Fields(AssetNode, asset=INDEX),
    Fields(SignaturesNode),
    Fields(GeneratorNode, seed=Maybe(Integer(-(2**63), 2**64 - 1)), tensor=Maybe(TEXT)),
    Fields(NoneNode),
)
OBJECT = Fields(ObjectRecord, node=NODES, children=Many(Pair(INDEX)))
SIGNATURE = Fields(SignatureRecord, key=TEXT, function=INDEX, concrete=INDEX, inputs=_NAMES, outputs=_NAMES)
TENSOR_RECORD = Fields(TensorRecord, name=TEXT, dtype=DTYPE, shape=SIZES)
PAYLOAD = Fields(
    PayloadRecord,
    tensors=Many(TENSOR_RECORD, "tensors", total="tensors"),
    checks=DATA,
    sha256=Maybe(Data(32)),
)
ASSET = Fields(AssetRecord, name=TEXT, size=Integer(0, 1 << 62), sha256=Data(32))
MODEL = Document(
    ModelRecord,
    producer=TEXT,
    features=Many(FEATURE),
    specs=Many(SPEC),
    ops=Many(OP),
    lines=_NAMES,
    graphs=Many(GRAPH, "graphs"),
    rules=Many(RULE),
    functions=Many(FUNCTION, "functions"),
    objects=Many(OBJECT, "objects"),
    signatures=Many(SIGNATURE),
    payloads=Many(PAYLOAD),
    assets=Many(ASSET),
)
