"""Derivatives: tapes, gradient graphs, forward mode, Jacobians, custom gradients."""
