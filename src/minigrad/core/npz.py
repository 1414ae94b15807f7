"""Arrays in a zip file, as NumPy's `savez` writes them, by the standard library alone.

The same arrays make the same bytes: no time of writing, nothing compressed. Nothing of a file is
believed when it is read. No array is larger than the file, so that no file unpacks into more than
it is; no text in it is evaluated, and objects, for which NumPy would need pickle, are refused.
"""

from __future__ import annotations

import io
import math
import re
import zipfile
from typing import Any, NamedTuple

from ..errors import CheckpointError
from .names import short

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNED = 64  # NumPy has the numbers begin at a multiple of this
_HEADER = re.compile(
    r"\{'descr': '([^'\n]{1,20})', 'fortran_order': False, 'shape': \(([0-9, ]{0,60})\), \} *\n"
)
_KIND = re.compile(r"[<>|=][a-zA-Z]([0-9]{1,3})")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first time that a zip file can name
_ORDINARY_FILE = 0o100600 << 16
_UNIX = 3


class Stored(NamedTuple):
    """An array as it lies in a file."""

    kind: str  # what NumPy calls its dtype: "<f8", "|u1"
    shape: tuple[int, ...]
    data: bytes


def pack(arrays: dict[str, Stored]) -> bytes:
    """Return the content of a file that `numpy.load` opens."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, stored in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            member.create_system, member.external_attr = _UNIX, _ORDINARY_FILE
            archive.writestr(member, _header(stored) + stored.data)
    return buffer.getvalue()


def _header(stored: Stored) -> bytes:
    text = f"{{'descr': {stored.kind!r}, 'fortran_order': False, 'shape': {stored.shape!r}, }}"
    spaces = -(len(_MAGIC) + 2 + len(text) + 1) % _ALIGNED
    header = text.encode() + b" " * spaces + b"\n"
    return _MAGIC + len(header).to_bytes(2, "little") + header


def unpack(content: bytes) -> dict[str, Stored]:
    """Return the arrays in the content of a file, by name."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except Exception as error:  # of seven kinds at least, for bytes that nobody wrote
        raise _damaged(error) from None
    members = archive.infolist()
    for member in members:
        name, size = short(member.filename), member.file_size
        if member.compress_type != zipfile.ZIP_STORED:
            raise CheckpointError(f"'{name}' is compressed, which minigrad's files never are.")
        if size != member.compress_size:
            raise CheckpointError(
                f"'{name}' is said to have {size:,} bytes and {member.compress_size:,} at once; "
                "the file is damaged."
            )
    declared = sum(member.file_size for member in members)
    if declared > len(content):
        raise CheckpointError(
            f"declares {declared:,} bytes of arrays, but has {len(content):,} in all; "
            "the file is damaged."
        )
    arrays = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        if name in arrays:
            raise CheckpointError(f"'{short(name)}' is there twice; the file is damaged.")
        arrays[name] = _parsed(_content(archive, member), short(name))
    return arrays


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(member)  # which compares its checksum
    except Exception as error:
        raise _damaged(error) from None


def _damaged(error: Any) -> CheckpointError:
    return CheckpointError(f"not a whole .npz file ({short(error)}). Is it the right file?")


def _parsed(content: bytes, name: str) -> Stored:
    """Read a .npy file by the one form that NumPy gives its header."""
    begin = len(_MAGIC) + 2
    end = begin + int.from_bytes(content[len(_MAGIC) : begin], "little")
    found = _HEADER.fullmatch(content[begin:end].decode("latin-1"))
    if not content.startswith(_MAGIC) or found is None:
        raise CheckpointError(f"'{name}' is no array as NumPy writes one; the file is damaged.")
    kind, sizes = found.groups()
    size = _KIND.fullmatch(kind)
    if size is None:
        raise CheckpointError(f"'{name}' is of the type {short(kind)}; only numbers are read.")
    shape = tuple(int(each) for each in sizes.split(",") if each.strip().isdecimal())
    if math.prod(shape) * int(size[1]) != len(content) - end:
        raise CheckpointError(
            f"'{name}' has {len(content) - end:,} bytes, which are no array of the shape "
            f"({short(sizes)}) and the type {kind}; the file is damaged."
        )
    return Stored(kind, shape, content[end:])
