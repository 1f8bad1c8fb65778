"""TensorFlow's own checkpoints, read without TensorFlow: an index that is a sorted table, and files with the values."""

from serialization.tensorflow.bundle import INDEX as INDEX
from serialization.tensorflow.bundle import STRING as STRING
from serialization.tensorflow.bundle import Bundle as Bundle
from serialization.tensorflow.bundle import Entry as Entry
from serialization.tensorflow.objects import GRAPH as GRAPH
from serialization.tensorflow.objects import ObjectNode as ObjectNode
from serialization.tensorflow.objects import nodes_of as nodes_of
