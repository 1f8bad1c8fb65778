"""Value numbering: the same op on the same values is computed once.

before:  %2 = mul(%0, %1);  %3 = mul(%0, %1);  %4 = add(%2, %3);  return %4
after:   %2 = mul(%0, %1);  %3 = add(%2, %2);  return %3

Nodes with effects stay apart: two reads of a variable, two random draws, two prints.
"""

from __future__ import annotations

from graphad.compiler.passes.rewrite import RuleTable, sweep
from graphad.graph.ir import Graph


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, RuleTable())
