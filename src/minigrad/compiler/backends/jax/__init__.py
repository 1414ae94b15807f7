"""Programs on JAX: one machine's CPU, GPUs, TPUs, many hosts.

JAX gets the program without its gradient, as separate arrays (`views`), and differentiates it by
itself, with the slopes of the op table.
"""
