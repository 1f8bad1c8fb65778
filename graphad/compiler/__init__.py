"""From a graph to something that runs: passes, kernels, cache, plan, executables."""
