"""Keras' own functions of arrays, which `keras.backend` lists: older names and defaults of what `math`, `nn` and `array` have."""
