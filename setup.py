"""Build the native engine where that is possible; `pyproject.toml` says everything else.

Some modules of the engine, `node.py`, `scalar.py` and others, are plain Python. With Cython and a C
compiler they become extension modules of the same names; without, or with MINIGRAD_PURE=1, they are
installed as they are. `native/vm/`, the machine that runs compiled programs, is built along with
them.

pip builds in a new temporary folder each time, so what was compiled is kept in `build/kept`, under
a hash of everything that went into it: the next install of the same sources takes it from there.

A wheel holds the machine for all instruction sets, for nobody knows where it will run. An editable
install stays where it is: it is compiled for this processor and, hardly optimised, for any other,
which halves the compiler's time. MINIGRAD_ISAS=all has all of them built there too.

MINIGRAD_CFLAGS holds flags for the compiler and the linker that come after all others: CI builds
with sanitizers that way (`.ci/run`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "minigrad"
WRITTEN = ROOT / "build" / "cython"  # the C files that Cython writes, and headers
KEPT = ROOT / "build" / "kept"  # what was compiled, by the hash of what it was made from

# Strict IEEE arithmetic: no fused operations, no fast-math; errno is not read by anybody. Without
# -g0 there would be debug information, as in Python itself: a third of the compiler's time, and
# four fifths of the files.
FLAGS = ("-g0", "-ffp-contract=off", "-fno-math-errno")
# Each operation of the eager engine goes through these. The others take some 5 % more instructions
# for a trace with -O1 than with -O2, which costs the compiler twice the time.
EAGER = ("core.node", "core.backward", "scalar")

MACHINE = "minigrad._vm"

POSIX = os.name == "posix"
LAST_FLAGS = shlex.split(os.environ.get("MINIGRAD_CFLAGS", ""))
# The names of functions in the files: a tenth of them. Who gives flags wants to look inside.
LINK = ["-Wl,-s"] if sys.platform == "linux" and not LAST_FLAGS else []

DIRECTIVES = {
    "annotation_typing": False,
    "cpow": True,
    # Methods like those of built-in types, which look at `self` when somebody calls
    # Value.tanh(0.5): Cython's own kind of functions takes a float for a node.
    "binding": False,
    "embedsignature": True,
    "embedsignature.format": "clinic",  # what inspect.signature and help() read
    # None passes for a node in Cython; its fields are not there.
    "nonecheck": True,
    # Nodes have their own way, and Cython's would fill the other classes from any list.
    "auto_pickle": False,
}


def say(text: str) -> None:
    """Print a notice that pip shows with -v."""
    sys.stderr.write(f"minigrad: {text}\n")  # in one piece: modules are compiled side by side


class BuildEngine(build_ext):
    """Write the header from the op table, compile, and take no for an answer."""

    def finalize_options(self) -> None:
        """Compile on all cores."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        """Compile; if anything is missing, say so and go on without."""
        try:
            super().run()
        except Exception as error:
            self._go_on_without(error)

    def build_extensions(self) -> None:
        """Compile all modules, or none: half an engine would be two."""
        try:
            for name, text in header_texts().items():
                write_if_new(WRITTEN / name, text)
            for extension in self.extensions:
                extension.include_dirs.append(str(WRITTEN))
                if extension.name == MACHINE and (self.inplace or self.editable_mode):
                    extension.extra_compile_args += self._without_other_isas()
                extension.extra_compile_args += LAST_FLAGS
                extension.extra_link_args += [*LINK, *LAST_FLAGS]
            super().build_extensions()
        except Exception as error:
            self._go_on_without(error)

    def build_extension(self, ext: Extension) -> None:
        """Compile one module, or take it from `build/kept` if it was made from just this."""
        made = Path(self.get_ext_fullpath(ext.name))
        ending = sysconfig.get_config_var("EXT_SUFFIX")
        kept = KEPT / f"{ext.name}-{self._hash(ext)}{ending}"
        made.parent.mkdir(parents=True, exist_ok=True)
        if kept.exists():
            shutil.copyfile(kept, made)
            say(f"{ext.name} is unchanged and was not compiled again.")
            return
        began = time.perf_counter()
        self.force = True  # file times say nothing here
        super().build_extension(ext)
        say(f"{ext.name} compiled in {time.perf_counter() - began:.0f} seconds.")
        KEPT.mkdir(parents=True, exist_ok=True)
        older = set(KEPT.glob(f"{ext.name}-*{ending}"))
        unfinished = kept.with_name(f"{kept.name}.{os.getpid()}")
        shutil.copyfile(made, unfinished)
        unfinished.replace(kept)  # so that nobody sees half of it
        for path in older:
            path.unlink(missing_ok=True)

    def _without_other_isas(self) -> list[str]:
        """Leave out of isas.c what this processor does not have or would never choose."""
        if os.environ.get("MINIGRAD_ISAS") == "all":
            return []
        ask = [self.compiler.compiler_so[0], "-march=native", "-dM", "-E", "-x", "c", os.devnull]
        told = subprocess.run(ask, capture_output=True, text=True, check=False).stdout
        if not told:  # a compiler that does not know the processor
            return []
        if all(f"__AVX512{part}__ " in told for part in ("F", "DQ", "VL")):
            return ["-DWITHOUT_AVX2"]
        has_avx2 = "__AVX2__ " in told and "__FMA__ " in told
        return ["-DWITHOUT_AVX512"] if has_avx2 else ["-DWITHOUT_AVX512", "-DWITHOUT_AVX2"]

    def _hash(self, ext: Extension) -> str:
        """Hash all that decides what the compiler makes: text, flags, compiler, Python."""
        compiler = [str(word) for word in getattr(self.compiler, "compiler_so", [])]
        linker = [str(word) for word in getattr(self.compiler, "linker_so", [])]
        told = [compiler, linker, ext.extra_compile_args, ext.extra_link_args, ext.libraries]
        told += [sys.version, sysconfig.get_config_var("EXT_SUFFIX"), platform.libc_ver()]
        if compiler:
            told.append(subprocess.check_output([compiler[0], "--version"], text=True))
        folder = "vm" if ext.name == MACHINE else "nodes"
        names = (*sorted(ext.sources), *sorted((PACKAGE / "native" / folder).rglob("*.h")))
        return _hash_of(repr(told), *(ROOT / name for name in names), *sorted(WRITTEN.glob("*.h")))

    def _go_on_without(self, error: Exception) -> None:
        why = f"{type(error).__name__}: {error}"
        say(f"the native engine was not built ({why}); the pure engine is installed.")
        for extension in self.extensions:
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
        self.extensions = []

    def copy_extensions_to_source(self) -> None:
        """Copy what there is into the source tree of an editable install, and leave nothing older.

        A module that was native once would go on hiding the file of its name.
        """
        made = {PACKAGE.parent / self.get_ext_filename(ext.name) for ext in self.extensions}
        for path in PACKAGE.rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            if path not in made:
                path.unlink()
        if self.extensions:
            super().copy_extensions_to_source()


def header_texts() -> dict[str, str]:
    """Make the C headers from the op table of this very source tree."""
    os.environ["MINIGRAD_PURE"] = "1"  # whatever is built here already is of another build
    sys.path.insert(0, str(PACKAGE.parent))
    from minigrad.codegen import c_formulas, c_kernels, c_rules
    from minigrad.optim import built_in

    return {
        "minigrad_ops.h": c_rules.header(),
        "minigrad_kernels.h": c_kernels.header(),
        "minigrad_float32.h": c_kernels.header(single=True),
        "minigrad_formulas.h": c_formulas.header(built_in()),
    }


def extensions() -> list[Extension]:
    """Name what to compile, or nothing if it is not wanted or not possible."""
    # From the file: the package itself would load an engine.
    build = runpy.run_path(str(PACKAGE / "core" / "native_or_pure.py"))
    if build["pure_is_asked"]():
        say("MINIGRAD_PURE is set; the pure engine is installed.")
        return []
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        say("this Python has no global lock; the native engine needs it and is left out.")
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        say("Cython is not there; the pure engine is installed.")
        return []
    modules = [
        Extension(
            f"minigrad.{name}",
            [f"src/minigrad/{name.replace('.', '/')}.py"],
            include_dirs=["src/minigrad/native"],
            # -w: warnings about what Cython writes help nobody, and take a seventh of the time.
            extra_compile_args=["-O2" if name in EAGER else "-O1", *FLAGS, "-w"] if POSIX else [],
        )
        for name in build["NATIVE"]
    ]
    write_codes()
    hashes = forget_stale_c(modules)
    compiled = cythonize(
        modules,
        include_path=[str(WRITTEN)],
        build_dir=str(WRITTEN.relative_to(ROOT)),
        language_level=3,
        compiler_directives=DIRECTIVES,
    )
    for path, text in hashes.items():
        path.write_text(text, encoding="utf-8")
    # The machine is written with the vectors of GCC and clang. First, for it takes the longest.
    return [machine(), *compiled] if POSIX else compiled


def write_codes() -> None:
    """Write the codes of the op table down as constants of C, for `cimport`; see core/codes.py."""
    table = runpy.run_path(str(PACKAGE / "core" / "ops.py"))["TABLE"]
    text = "cdef enum:\n" + "".join(f"    {row.name.upper()} = {row.code}\n" for row in table)
    write_if_new(WRITTEN / "minigrad_codes.pxd", text)


def forget_stale_c(modules: list[Extension]) -> dict[Path, str]:
    """Remove C files made from other text or by another Cython, which goes by file times alone.

    Returns the hash of what each will be made from, by the file to write it to.
    """
    from Cython import __version__

    shared = [Path(__file__), *sorted(PACKAGE.rglob("*.pxd")), *WRITTEN.glob("*.pxd")]
    hashes = {}
    for module in modules:
        c_file = (WRITTEN / module.sources[0]).with_suffix(".c")
        text = _hash_of(__version__, ROOT / module.sources[0], *shared)
        note = c_file.with_suffix(".hash")
        if not note.exists() or note.read_text(encoding="utf-8") != text:
            c_file.unlink(missing_ok=True)
        hashes[note] = text
    return hashes


def _hash_of(text: str, *paths: Path) -> str:
    parts = [text.encode(), *(path.read_bytes() for path in paths)]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[
        :16
    ]


def write_if_new(path: Path, text: str) -> None:
    """Write a file unless it says that already: else all that depends on it is made again."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_text(encoding="utf-8") == text:
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def machine() -> Extension:
    """Describe the extension that runs compiled programs."""
    files = sorted(str(path.relative_to(ROOT)) for path in (PACKAGE / "native/vm").rglob("*.[ch]"))
    return Extension(
        MACHINE,
        [path for path in files if path.endswith(".c")],
        include_dirs=["src/minigrad/native"],
        depends=files,
        libraries=["m"],
        # -Wno-psabi: vectors are never handed to a function of another file.
        extra_compile_args=[
            *("-O3", *FLAGS, "-fno-trapping-math"),
            *("-Wno-psabi", "-Wno-unused-function", "-fvisibility=hidden"),
        ],
    )


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildEngine})
