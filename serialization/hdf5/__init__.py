"""HDF5 files as Keras writes them, read without the HDF5 library: groups, plain data sets, attributes of strings."""

from serialization.hdf5.file import Dataset as Dataset
from serialization.hdf5.file import File as File
from serialization.hdf5.file import Group as Group
