"""Derivatives, the backward pass step by step, and gradients as sums over paths."""
