"""The cases of bench/compiled.py, and who takes part in each."""

from __future__ import annotations

from dataclasses import dataclass

KERNEL, WHOLE, EAGER = "minigrad, kernel", "minigrad, whole call", "minigrad eager"
TWO_CORES, FLOAT32 = "minigrad, two cores", "minigrad, float32"
LOOP = "minigrad, backward()"
ARRAYS = "NumPy, whole arrays"
C, FAST_C = "C by hand", "C by hand, -ffast-math"
CLASSIC, MICROGPT = "classic Value", "microgpt-style Value"
NUMPY, TORCH, JAX, CASADI, NUMBA = (
    "NumPy by hand",
    "PyTorch",
    "jax.jit",
    "CasADi SX",
    "numba by hand",
)
PEERS = {
    KERNEL: "ours.Kernel",
    WHOLE: "ours.Compiled",
    TWO_CORES: "ours.TwoCores",
    FLOAT32: "ours.Float32",
    LOOP: "ours.Loop",
    C: "by_hand.C",
    FAST_C: "by_hand.FastC",
    NUMBA: "by_hand.Numba",
    NUMPY: "by_hand.NumPy",
    ARRAYS: "by_hand.WholeArrays",
    TORCH: "tensors.Torch",
    JAX: "tensors.Jax",
    CASADI: "scalars.Casadi",
    EAGER: "ours.Eager",
    MICROGPT: "scalars.Microgpt",
    "micrograd": "scalars.MicrogradPackage",
    CLASSIC: "scalars.Classic",
}
SCALARS = [EAGER, MICROGPT, CLASSIC]
TENSORS = [NUMPY, TORCH, JAX]


@dataclass(frozen=True)
class Case:
    """What is measured and who takes part; `scale` counts the parts that a time is divided by."""

    what: str
    peers: tuple[str, ...]
    scale: int = 1
    unit: str = "µs"


BOTH = (KERNEL, WHOLE)
ADAM, SGD = "B8 + Adam", "B8 + SGD"
TAPED = (*BOTH, C, EAGER)  # in D and R the C is a flat tape
BATCH = (WHOLE, C, *TENSORS, EAGER)
GPT = (*BOTH, C, FAST_C, *TENSORS, CASADI, *SCALARS)
CASES = {
    "T": Case(
        "Rosenbrock's function of two numbers, 2 gradients", (WHOLE, C, NUMBA, *TENSORS, EAGER)
    ),
    "A": Case(
        "micrograd's demo: 100 points, 2-16-16-1, 337 gradients",
        (*BOTH, C, FAST_C, NUMBA, *TENSORS, CASADI, EAGER, MICROGPT, "micrograd", CLASSIC),
    ),
    "B4": Case("a GPT, 4 tokens, 4,192 gradients", GPT),
    "B8": Case("a GPT, 8 tokens, 4,192 gradients", GPT),
    "B16": Case("a GPT, 16 tokens, 4,192 gradients", GPT),
    ADAM: Case("the same, 8 tokens, with a step of Adam", (WHOLE, LOOP, C, *TENSORS, *SCALARS)),
    SGD: Case("the same with a step of SGD, by train_step and by hand", (WHOLE, LOOP, EAGER)),
    "M32": Case("a network 784-128-10, a batch of 32, with a step of SGD", BATCH),
    "M128": Case("the same, a batch of 128", BATCH),
    "C": Case(
        "Black-Scholes and five derivatives, a million options, per option",
        (WHOLE, TWO_CORES, FLOAT32, C, FAST_C, NUMBA, NUMPY, ARRAYS, TORCH, JAX, EAGER),
        1_000_000,
        "ns",
    ),
    "D wide": Case("a random graph, 200 levels of 500", (*BOTH, C, CASADI, EAGER)),
    "D deep": Case(
        "a random graph, operands mostly among the last 12 nodes", (*BOTH, C, CASADI, EAGER)
    ),
    "R trees": Case("50 points, 2-16-16-1, every sum a balanced tree", TAPED),
    "R RNN": Case("a recurrent network, 16 units, tanh, 20 steps", TAPED),
    "R convolution": Case("an image of 12×12, 4 filters of 3×3, a linear head", TAPED),
    "R GPT": Case("a GPT, 2 layers, width 32, 8 tokens", TAPED),
    "R shuffled": Case("50 points, 2-16-16-1, factors and terms in random order", TAPED),
}
TRAINING = "a GPT trained on {count:,} names with Adam, tracing and compiling included"
TRAINERS = (WHOLE, C, *TENSORS, *SCALARS)
SAMPLED = {MICROGPT, CLASSIC}  # too slow for all documents: measured on some, then extrapolated
SAMPLE = 20
TRAINED, LARGE, AGAIN = "B end to end", "E large", "E again"
AGAIN_NAMES = {"small": "a small program", "lengths": "twelve lengths of names"}
LETTERS = "TABMCDRE"
