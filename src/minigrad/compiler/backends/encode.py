"""From a program to what the native machine reads: flat words, and index arrays where needed.

`encode` brings operands into the few forms that the machine knows. There each instruction is a nest
of three loops, (d0, d1, d2), and an operand says how far its slot moves in each of them:

    affine    base + i0*s0 + i1*s1 + i2*s2
    rows      base + index[i0*d1 + i1] + i2*s2
    cells     base + index[(i0*d1 + i1)*d2 + i2]

The nest is chosen here: loops that all operands walk through in one stride become one, and the
innermost is one along which results follow each other in memory. `native/vm/program.c` checks
everything again when it loads the words. Start at `encode`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen.elementwise import MAPS
from ..ir.instructions import ADD, DOT, MAP, MULADD, VJP, Chain, Instruction, parts_of
from ..ir.program import Program
from ..ir.refs import Ref, check_size, indices
from ..passes.trim import trim

__all__ = ["Bytecode", "encode"]

Array = np.ndarray[Any, np.dtype[Any]]

# What the machine does; native/vm/program.h has the same list.
_NAMES: tuple[str, ...] = ("elementwise", "map", "vjp", "sum", "dot", "mm")
_NAMES += ("max", "argmax", "take", "put", "get", "fill")
_OPCODES = {name: code for code, name in enumerate(_NAMES)}
# Element by element without a kernel: = a, = -a, = a+b, = a-b, = a*b, += a, -= a, += a*b.
_ELEMENTWISE = ("copy", "neg", "add", "sub", "mul", "add_to", "sub_from", "mul_add_to")
_PLAIN = {"add": "add", "sub": "sub", "mul": "mul", "neg": "neg", "stop_gradient": "copy"}
_CODES = {name: op.code for name, op in MAPS.items()}
_PLAIN_CODES = np.full(1 + max(_CODES.values()), -1)
for _name, _plain in _PLAIN.items():
    _PLAIN_CODES[_CODES[_name]] = _ELEMENTWISE.index(_plain)
_HEAD, _REF = 9, 6  # words of an instruction, and of each of its operands
_AFFINE, _ROWS, _CELLS = range(3)
_STORES, _REPEATS = 1, 2


# ---- operands ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Operand:
    """Slots of an operand in a nest of loops: strides, or an index array."""

    base: int
    strides: list[int]
    index: Array | None = None
    form: int = _AFFINE


def _levels(ref: Ref, rows: int) -> tuple[int, int, int] | None:
    """(inner, outer stride, inner stride) of an even operand; inner is `rows` if one will do."""
    if ref.cells is not None:
        return None
    if ref.rows is not None:
        return _even(ref.rows)
    inner, outer, step = ref.inner, ref.outer_stride, ref.inner_stride
    if inner == 1:
        return rows, 0, outer
    if inner >= rows or outer == inner * step:
        return rows, 0, step
    return (inner, outer, step) if rows % inner == 0 else None


def _even(starts: Array) -> tuple[int, int, int] | None:
    """The levels of rows that an index array tells, if it has a single stride after all."""
    rows = len(starts)
    if rows == 1:
        return 1, 0, 0
    step = int(starts[1]) - int(starts[0])
    # The last one gives nearly every other pattern away.
    if int(starts[-1]) - int(starts[0]) != step * (rows - 1) or (np.diff(starts) != step).any():
        return None
    return rows, 0, step


def _base(ref: Ref) -> int:
    return ref.base if ref.rows is None else ref.base + int(ref.rows[0])


def _indexed(ref: Ref, rows: int, terms: int, *, flat: bool = False) -> _Operand:
    """Give an operand an index array: by rows if its terms have a stride, else by cells.

    Its own array where it has one: it is shared with the operand's adjoints, which lie elsewhere.
    """
    by_rows = not flat and (ref.cells is None or terms == 1)
    strides = [0, 0, ref.term_stride if by_rows and terms > 1 else 0]
    form = _ROWS if by_rows else _CELLS
    if ref.cells is not None:
        return _Operand(ref.base, strides, ref.cells, form)
    if ref.rows is not None and (by_rows or terms == 1):
        return _Operand(ref.base, strides, ref.rows, form)
    return _Operand(0, strides, ref.slots(rows, 1 if by_rows else terms).ravel(), form)


def _nest(spaces: Sequence[tuple[Ref, int]], rows: int, terms: int) -> tuple[list[int], Any]:
    """Put operands that share their rows into one nest: (d0, d1), and `terms` innermost."""
    levels = [_levels(ref, rows) for ref, _ in spaces]
    inner = next((level[0] for level in levels if level and level[0] != rows), rows)
    operands = []
    for (ref, own_terms), level in zip(spaces, levels, strict=True):
        term = ref.term_stride if own_terms > 1 else 0
        if level is None or level[0] not in (rows, inner):
            operands.append(_indexed(ref, rows, own_terms))
        else:
            far = level[2] * inner if level[0] == rows else level[1]
            operands.append(_Operand(_base(ref), [far, level[2], term]))
    return [rows // inner, inner, terms], operands


def _single(refs: Sequence[Ref], rows: int) -> list[_Operand] | None:
    """Put operands of one term into one loop, unless there is one with two strides."""
    found = []
    for ref in refs:
        level = _levels(ref, rows)
        if level is None:
            found.append(_indexed(ref, rows, 1, flat=True))
        elif level[0] == rows:
            found.append(_Operand(_base(ref), [0, 0, level[2] if rows > 1 else 0]))
        else:
            return None
    return found


def _elementwise(refs: Sequence[Ref], rows: int, terms: int = 1) -> Any:
    """Nest operands of an instruction whose elements may be visited in any order."""
    if terms == 1:
        simple = _single(refs, rows)
        if simple is not None:
            return [1, 1, rows], simple
    dims, operands = _nest([(ref, terms) for ref in refs], rows, terms)
    if all(operand.form == _AFFINE for operand in operands):
        return _merged(dims, operands)
    if terms > 1 and all(operand.form != _CELLS for operand in operands):
        return dims, operands
    # One long loop: operands that do not move evenly through all of it are spelled out.
    flat = []
    for ref, operand in zip(refs, operands, strict=True):
        if operand.form == _AFFINE:
            (_, _, d2), (moved,) = _merged(dims, [operand])
            if d2 == rows * terms:
                flat.append(moved)
                continue
        flat.append(_indexed(ref, rows, terms, flat=True))
    return [1, 1, rows * terms], flat


def _merged(dims: list[int], operands: list[_Operand]) -> tuple[list[int], list[_Operand]]:
    """Drop loops of one turn, join loops that are one stride, and choose the innermost."""
    loops = [(d, [op.strides[k] for op in operands]) for k, d in enumerate(dims) if d != 1]
    joined: list[tuple[int, list[int]]] = []
    for d, strides in loops:
        if joined and joined[-1][1] == [d * near for near in strides]:
            joined[-1] = (joined[-1][0] * d, strides)
        else:
            joined.append((d, strides))
    joined.sort(key=_innermost)
    while len(joined) < 3:
        joined.insert(0, (1, [0] * len(operands)))
    moved = [
        _Operand(op.base, [strides[n] for _, strides in joined]) for n, op in enumerate(operands)
    ]
    return [d for d, _ in joined], moved


def _innermost(loop: tuple[int, list[int]]) -> tuple[int, int]:
    """Rank loops: innermost (last) is one along which the machine can use whole vectors."""
    d, (out, *args) = loop
    if d >= 4 and out != 0 and all(stride in (0, 1) for stride in args):
        return (4 if out == 1 else 3, d)
    # A loop over terms of the same results comes next: the machine keeps them in registers.
    return (2 if out == 0 else 1, d)


def _matrix(ref: Ref, rows: int, terms: int) -> _Operand:
    """A factor of a product: s0 along its rows, s2 along its terms."""
    level = _levels(ref, rows)
    if level is None or level[0] != rows:
        return _indexed(ref, rows, terms)
    return _Operand(_base(ref), [level[2], 0, ref.term_stride if terms > 1 else 0])


def _grid(ref: Ref, m: int, n: int) -> _Operand:
    """The m x n results of a product, or what they start from: s0 by row, s1 by column."""
    level = _levels(ref, m * n)
    if level is not None and level[0] == m * n:
        return _Operand(_base(ref), [level[2] * n, level[2], 0])
    if level is not None and level[0] == n:
        return _Operand(_base(ref), [level[1], level[2], 0])
    return _indexed(ref, m * n, 1)


# ---- words ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bytecode:
    """A program as the machine reads it."""

    words: Array  # int64
    pool: Array  # int32: index arrays, one after the other
    numbers: Array  # float64: what instructions fill with
    size: int


class _Writer:
    def __init__(self) -> None:
        self.words: list[int] = []
        self.before: list[Array] = []  # words before those, where there is a chain
        self.pool: list[Array] = []
        self.places: dict[bytes | int, int] = {}  # in the pool, by contents and by identity
        self.length = 0
        self.numbers: list[float] = []

    def write(
        self,
        opcode: str,
        dims: Sequence[int],
        operands: Sequence[_Operand],
        *,
        op: int = 0,
        which: int = 0,
        flags: int = 0,
        number: float = 0.0,
    ) -> None:
        place = len(self.numbers)
        self.numbers.append(number)
        self.words += (_OPCODES[opcode], op, which, flags, *dims, place, len(operands))
        for operand in operands:
            at = 0 if operand.index is None else self._keep(operand.index)
            self.words += (operand.form, operand.base, *operand.strides, at)

    def write_elementwise(self, name: str, refs: Sequence[Ref], *shape: int) -> None:
        dims, operands = _elementwise(refs, *shape)
        self.write("elementwise", dims, operands, op=_ELEMENTWISE.index(name))

    def write_chain(self, chain: Chain) -> None:
        """Write all rows of a chain as the encoders below would: all loops have one turn."""
        opcode, op, operands = _encoded_rows(chain)
        count = (operands >= 0).sum(axis=1)
        start = np.cumsum(_HEAD + _REF * count) - (_HEAD + _REF * count)
        words = np.zeros(int(start[-1]) + _HEAD + _REF * int(count[-1]), dtype=np.int64)
        is_vjp = opcode == _OPCODES["vjp"]
        place = len(self.numbers) + np.arange(len(chain))
        self.numbers += [0.0] * len(chain)
        head = (
            opcode,
            op,
            chain.which * is_vjp,
            chain.stores * is_vjp * _STORES,
            1,
            1,
            1,
            place,
            count,
        )
        for k, column in enumerate(head):
            words[start + k] = column
        row, which = np.nonzero(operands >= 0)
        words[start[row] + _HEAD + _REF * which + 1] = operands[row, which]
        self.before += [np.array(self.words, dtype=np.int64), words]
        self.words = []

    def _keep(self, index: Array) -> int:
        """Return where in the pool an index array stands; many are used twice."""
        at = self.places.get(id(index))
        if at is not None:
            return at
        packed = indices(index)
        key = packed.tobytes()
        if key not in self.places:
            self.places[key] = self.length
            self.length += len(packed)
            self.pool.append(packed)
        if packed is index:  # which the pool keeps alive: no other array gets its id
            self.places[id(index)] = self.places[key]
        return self.places[key]


def encode(program: Program) -> Bytecode:
    """Write a program down for the machine."""
    check_size(program.size)
    writer = _Writer()
    for i in parts_of(trim(program).instructions):
        if isinstance(i, Chain):
            writer.write_chain(i)
        else:
            _ENCODERS[i.kind](writer, i)
    pool = np.concatenate([np.zeros(0, dtype=np.int32), *writer.pool])
    words = np.concatenate([*writer.before, np.array(writer.words, dtype=np.int64)])
    return Bytecode(words, pool, np.array(writer.numbers, dtype=np.float64), program.size)


def _encoded_rows(chain: Chain) -> tuple[Array, Array, Array]:
    """Opcode, operation and operands, the result first, of all rows; -1 for no operand."""
    kind, op, args = chain.kind, chain.op, chain.args
    operands = np.concatenate([chain.out[:, None], args], axis=1)
    plain = _PLAIN_CODES[np.maximum(op, 0)]
    in_map = (kind == MAP) & (plain >= 0)
    # What an adjoint gets is copied, subtracted or multiplied: see `_encode_vjp`.
    is_negative = (op == _CODES["neg"]) | (op == _CODES["sub"]) & (chain.which == 1)
    passes = (kind == VJP) & np.isin(op, [_CODES[name] for name in ("add", "sub", "neg")])
    times = (kind == VJP) & (op == _CODES["mul"])
    operands[passes, 2:] = -1
    operands[times, 2] = args[times, 3 - chain.which[times]]
    operands[times, 3:] = -1
    is_sum, is_product = (kind == ADD) | passes, (kind == MULADD) | times
    names = np.select(
        [in_map, is_sum & passes & is_negative, is_sum, is_product],
        [plain, _which("neg", "sub_from", chain), _which("copy", "add_to", chain),
         _which("mul", "mul_add_to", chain)],
        -1,
    )  # fmt: skip
    others = np.array([_OPCODES[name] for name in ("map", "dot", "vjp", "map", "map")])
    opcode = np.where(names >= 0, _OPCODES["elementwise"], others[kind])
    return opcode, np.where(names >= 0, names, np.where(kind == DOT, 0, op)), operands


def _which(stores: str, adds: str, chain: Chain) -> Array:
    return np.where(chain.stores, _ELEMENTWISE.index(stores), _ELEMENTWISE.index(adds))


def _encode_map(writer: _Writer, i: Instruction) -> None:
    if i.op in _PLAIN:
        writer.write_elementwise(_PLAIN[i.op], (i.out, *i.args), *i.shape)
        return
    dims, operands = _elementwise((i.out, *i.args), *i.shape)
    writer.write("map", dims, operands, op=MAPS[i.op].code)


def _encode_vjp(writer: _Writer, i: Instruction) -> None:
    g = i.args[0]
    if i.op in ("add", "sub", "neg"):
        is_negative = i.op == "neg" or (i.op == "sub" and i.which == 1)
        names = ("neg", "sub_from") if is_negative else ("copy", "add_to")
        writer.write_elementwise(names[not i.stores], (i.out, g), *i.shape)
    elif i.op == "mul":
        name = "mul" if i.stores else "mul_add_to"
        writer.write_elementwise(name, (i.out, g, i.args[3 - i.which]), *i.shape)
    else:
        dims, operands = _elementwise((i.out, *i.args), *i.shape)
        flags = _STORES * i.stores
        writer.write("vjp", dims, operands, op=MAPS[i.op].code, which=i.which, flags=flags)


def _encode_accumulation(writer: _Writer, i: Instruction) -> None:
    names = ("copy", "add_to") if i.kind == "add" else ("mul", "mul_add_to")
    writer.write_elementwise(names[not i.stores], (i.out, *i.args), *i.shape)


def _encode_reduction(writer: _Writer, i: Instruction) -> None:
    rows, terms = i.shape
    *args, out = [(ref, own) for ref, _, own in i.spaces()]
    dims, operands = _nest([out, *args], rows, terms)
    writer.write(i.kind, dims, operands, flags=_STORES * i.stores)


def _encode_fill(writer: _Writer, i: Instruction) -> None:
    dims, operands = _elementwise((i.out,), *i.shape)
    writer.write("fill", dims, operands, number=i.number)


def _encode_matrix(writer: _Writer, i: Instruction) -> None:
    m, n, terms = i.shape
    operands = [_grid(i.out, m, n), _matrix(i.args[0], m, terms), _matrix(i.args[1], n, terms)]
    operands += [_grid(ref, m, n) for ref in i.args[2:]]
    flags = _STORES
    if i.adds:
        flags = 0 if i.areas[-1].once else _REPEATS
    writer.write("mm", [m, n, terms], operands, flags=flags)


_ENCODERS = {
    "map": _encode_map,
    "vjp": _encode_vjp,
    "add": _encode_accumulation,
    "muladd": _encode_accumulation,
    "mm": _encode_matrix,
    "mmadd": _encode_matrix,
    "fill": _encode_fill,
    **dict.fromkeys(("sum", "dot", "max", "argmax", "take", "put", "get"), _encode_reduction),
}
