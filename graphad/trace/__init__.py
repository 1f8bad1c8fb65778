"""From a Python function to a graph, and from a graph to the same graph with its sizes known."""
