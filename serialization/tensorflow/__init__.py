"""TensorFlow's own checkpoints, read without TensorFlow: an index that is a sorted table, and files with the values."""

from serialization.tensorflow.bundle import INDEX, STRING, Bundle, Entry
from serialization.tensorflow.objects import GRAPH, ObjectNode, nodes_of

__all__ = ["GRAPH", "INDEX", "STRING", "Bundle", "Entry", "ObjectNode", "nodes_of"]
