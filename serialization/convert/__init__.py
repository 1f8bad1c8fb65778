"""Between records and graphad: graphs, functions with their captures, custom gradients, and the object graph.

Nothing in a file names a Python class to import; ops come from graphad's registry, objects are plain restored ones.
"""
