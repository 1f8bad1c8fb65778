"""Layers: modules that make their variables when they first see an input."""

from graphad.layers.base import Layer as Layer
from graphad.layers.batch_normalization import BatchNormalization as BatchNormalization
from graphad.layers.cells import GRUCell as GRUCell
from graphad.layers.cells import LSTMCell as LSTMCell
from graphad.layers.cells import SimpleRNNCell as SimpleRNNCell
from graphad.layers.convolutions import Conv1D as Conv1D
from graphad.layers.convolutions import Conv2D as Conv2D
from graphad.layers.convolutions import Conv2DTranspose as Conv2DTranspose
from graphad.layers.convolutions import Conv3D as Conv3D
from graphad.layers.dense import Dense as Dense
from graphad.layers.embedding import Embedding as Embedding
from graphad.layers.group_normalization import GroupNormalization as GroupNormalization
from graphad.layers.inputs import Input as Input
from graphad.layers.inputs import InputLayer as InputLayer
from graphad.layers.layer_normalization import LayerNormalization as LayerNormalization
from graphad.layers.merging import Add as Add
from graphad.layers.merging import Average as Average
from graphad.layers.merging import Concatenate as Concatenate
from graphad.layers.merging import Maximum as Maximum
from graphad.layers.merging import Minimum as Minimum
from graphad.layers.merging import Multiply as Multiply
from graphad.layers.merging import Subtract as Subtract
from graphad.layers.merging import add as add
from graphad.layers.merging import average as average
from graphad.layers.merging import concatenate as concatenate
from graphad.layers.merging import maximum as maximum
from graphad.layers.merging import minimum as minimum
from graphad.layers.merging import multiply as multiply
from graphad.layers.merging import subtract as subtract
from graphad.layers.model import Model as Model
from graphad.layers.parametric import PReLU as PReLU
from graphad.layers.pooling import AveragePooling1D as AveragePooling1D
from graphad.layers.pooling import AveragePooling2D as AveragePooling2D
from graphad.layers.pooling import GlobalAveragePooling1D as GlobalAveragePooling1D
from graphad.layers.pooling import GlobalAveragePooling2D as GlobalAveragePooling2D
from graphad.layers.pooling import GlobalMaxPooling1D as GlobalMaxPooling1D
from graphad.layers.pooling import GlobalMaxPooling2D as GlobalMaxPooling2D
from graphad.layers.pooling import MaxPooling1D as MaxPooling1D
from graphad.layers.pooling import MaxPooling2D as MaxPooling2D
from graphad.layers.rearranging import Permute as Permute
from graphad.layers.rearranging import RepeatVector as RepeatVector
from graphad.layers.rearranging import UpSampling1D as UpSampling1D
from graphad.layers.rearranging import UpSampling2D as UpSampling2D
from graphad.layers.rearranging import ZeroPadding1D as ZeroPadding1D
from graphad.layers.rearranging import ZeroPadding2D as ZeroPadding2D
from graphad.layers.reshaping import ELU as ELU
from graphad.layers.reshaping import Activation as Activation
from graphad.layers.reshaping import Dropout as Dropout
from graphad.layers.reshaping import Flatten as Flatten
from graphad.layers.reshaping import Identity as Identity
from graphad.layers.reshaping import Lambda as Lambda
from graphad.layers.reshaping import LeakyReLU as LeakyReLU
from graphad.layers.reshaping import ReLU as ReLU
from graphad.layers.reshaping import Rescaling as Rescaling
from graphad.layers.reshaping import Reshape as Reshape
from graphad.layers.reshaping import Softmax as Softmax
from graphad.layers.sequential import Sequential as Sequential
from graphad.layers.wrapper import Wrapper as Wrapper

AvgPool1D = AveragePooling1D
AvgPool2D = AveragePooling2D
Convolution1D = Conv1D
Convolution2D = Conv2D
Convolution3D = Conv3D
Convolution2DTranspose = Conv2DTranspose
GlobalAvgPool1D = GlobalAveragePooling1D
GlobalAvgPool2D = GlobalAveragePooling2D
GlobalMaxPool1D = GlobalMaxPooling1D
GlobalMaxPool2D = GlobalMaxPooling2D
MaxPool1D = MaxPooling1D
MaxPool2D = MaxPooling2D
