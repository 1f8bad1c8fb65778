"""Tensors whose data are in the memory of another device than the CPU."""
