"""HDF5 files as Keras writes them, read without the HDF5 library: groups, plain data sets, attributes of strings."""

from serialization.hdf5.file import Dataset, File, Group

__all__ = ["Dataset", "File", "Group"]
