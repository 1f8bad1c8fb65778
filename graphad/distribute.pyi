"""Strategies for a program that runs as one replica on one device."""

from graphad.tools.replicas import InputContext as InputContext
from graphad.tools.replicas import MirroredStrategy as MirroredStrategy
from graphad.tools.replicas import OneDeviceStrategy as OneDeviceStrategy
from graphad.tools.replicas import ReduceOp as ReduceOp
from graphad.tools.replicas import ReplicaContext as ReplicaContext
from graphad.tools.replicas import RunOptions as RunOptions
from graphad.tools.replicas import Strategy as Strategy
from graphad.tools.replicas import TPUStrategy as TPUStrategy
from graphad.tools.replicas import get_replica_context as get_replica_context
from graphad.tools.replicas import get_strategy as get_strategy
from graphad.tools.replicas import has_strategy as has_strategy
from graphad.tools.replicas import in_cross_replica_context as in_cross_replica_context
