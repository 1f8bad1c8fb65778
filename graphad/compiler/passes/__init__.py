"""Graph to graph with the same meaning: each pass is `run(graph, options) -> graph`, the same object when nothing changed."""
