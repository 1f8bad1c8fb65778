"""Fourier transforms by NumPy's names."""

from graphad.ops.numpy.spectra import fft as fft
from graphad.ops.numpy.spectra import fft2 as fft2
from graphad.ops.numpy.spectra import fftfreq as fftfreq
from graphad.ops.numpy.spectra import fftn as fftn
from graphad.ops.numpy.spectra import fftshift as fftshift
from graphad.ops.numpy.spectra import hfft as hfft
from graphad.ops.numpy.spectra import ifft as ifft
from graphad.ops.numpy.spectra import ifft2 as ifft2
from graphad.ops.numpy.spectra import ifftn as ifftn
from graphad.ops.numpy.spectra import ifftshift as ifftshift
from graphad.ops.numpy.spectra import ihfft as ihfft
from graphad.ops.numpy.spectra import irfft as irfft
from graphad.ops.numpy.spectra import irfft2 as irfft2
from graphad.ops.numpy.spectra import irfftn as irfftn
from graphad.ops.numpy.spectra import rfft as rfft
from graphad.ops.numpy.spectra import rfft2 as rfft2
from graphad.ops.numpy.spectra import rfftfreq as rfftfreq
from graphad.ops.numpy.spectra import rfftn as rfftn
