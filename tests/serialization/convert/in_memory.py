"""Models as records and bytes without a directory: what tests change before they read it."""

from __future__ import annotations

from typing import Any

from graphad.graph.ir import Graph
from serialization.convert.graphs import GraphReader, GraphWriter
from serialization.convert.objects import ObjectReader
from serialization.saved_model.options import SaveOptions
from serialization.saved_model.save import _Given, _records
from serialization.schema.model import ModelRecord, ModuleNode, ObjectRecord, PayloadRecord
from serialization.schema.versions import FORMAT_VERSION, model_from_body, model_to_body
from serialization.wire.arrays import TensorRecord, chunk_count, dtype_name, partition, plan_layout

EMPTY = (ObjectRecord(ModuleNode("Empty")),)


def records_of(
    obj: Any, signatures: Any = None, options: SaveOptions | None = None
) -> tuple[ModelRecord, Any]:
    """The records of an object, payloads included, and its arrays."""
    model, objects = _records(obj, signatures, options or SaveOptions())
    arrays = _Given(objects.graphs.arrays.stored)
    return with_payloads(model, arrays), arrays


def with_payloads(model: ModelRecord, arrays: Any) -> ModelRecord:
    """The records as a writer completes them, but for the checksums."""
    listed = [TensorRecord(name, dtype_name(x.dtype), tuple(map(int, x.shape))) for name, x in arrays.items()]
    groups = [
        PayloadRecord(group, bytes(4 * chunk_count(plan_layout(group).size))) for group in partition(listed)
    ]
    return model.replace(payloads=tuple(groups))


def through_bytes(model: ModelRecord) -> ModelRecord:
    """The records after being written and read."""
    return model_from_body(FORMAT_VERSION, model_to_body(model))


def read(model: ModelRecord, arrays: Any) -> Any:
    """The object of these records, by way of bytes."""
    return ObjectReader(through_bytes(model), arrays).root()


def graphs_through_bytes(graphs: list[Graph]) -> list[Graph]:
    """Graphs after being written and read."""
    writer = GraphWriter(True)
    numbers = [writer.add_graph(graph) for graph in graphs]
    arrays = _Given(writer.arrays.stored)
    model = through_bytes(with_payloads(ModelRecord("test", **writer.tables(), objects=EMPTY), arrays))
    reader = GraphReader(model, arrays)
    found = [reader.graph(number) for number in numbers]
    reader.finish_rules()
    return found
