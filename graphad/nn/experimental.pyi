"""`tf.nn.experimental`: dropout by a seed alone, or by numbers of one's own."""

from graphad.ops.nn.normalize import general_dropout as general_dropout
from graphad.ops.nn.normalize import stateless_dropout as stateless_dropout
