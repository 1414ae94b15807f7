"""Build the native engine where that is possible; `pyproject.toml` says everything else.

Some modules of the engine, `node.py`, `scalar.py` and others, are plain Python. With Cython and a C
compiler they become extension modules of the same names; without, or with MINIGRAD_PURE=1, they are
installed as they are. `native/vm/`, the machine that runs compiled programs, is built along with
them.

MINIGRAD_CFLAGS holds flags for the compiler and the linker that come after all others: CI builds
with sanitizers that way (`.ci/run`).
"""

from __future__ import annotations

import os
import runpy
import shlex
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "minigrad"
WRITTEN = ROOT / "build" / "cython"  # the C files that Cython writes

LAST_FLAGS = shlex.split(os.environ.get("MINIGRAD_CFLAGS", ""))

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
    print(f"minigrad: {text}", file=sys.stderr)


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
            headers = Path(self.build_temp)
            headers.mkdir(parents=True, exist_ok=True)
            for name, text in header_texts().items():
                (headers / name).write_text(text, encoding="utf-8")
            rules = [
                *(str(PACKAGE / name) for name in ("core/ops.py", "maths/symbols.py", "optim.py")),
                *map(str, (PACKAGE / "codegen").glob("*.py")),
            ]
            for extension in self.extensions:
                extension.depends += rules  # of the headers
                extension.include_dirs.append(str(headers))
                extension.extra_compile_args += LAST_FLAGS
                extension.extra_link_args += LAST_FLAGS
            super().build_extensions()
        except Exception as error:
            self._go_on_without(error)

    def _go_on_without(self, error: Exception) -> None:
        why = f"{type(error).__name__}: {error}"
        say(f"the native engine was not built ({why}); the pure engine is installed.")
        for extension in self.extensions:
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
        self.extensions = []

    def copy_extensions_to_source(self) -> None:
        """Copy what there is into the source tree of an editable install."""
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
    # Strict IEEE arithmetic: no fused operations, no fast-math; errno is not read by anybody.
    flags = ["-O2", "-ffp-contract=off", "-fno-math-errno"] if os.name == "posix" else []
    modules = [
        Extension(
            f"minigrad.{name}",
            [f"src/minigrad/{name.replace('.', '/')}.py"],
            include_dirs=["src/minigrad/native"],
            extra_compile_args=flags,
        )
        for name in build["NATIVE"]
    ]
    write_codes()
    compiled = cythonize(
        modules,
        include_path=[str(WRITTEN)],
        build_dir=str(WRITTEN.relative_to(ROOT)),
        force=_are_of_other_directives(),
        language_level=3,
        compiler_directives=DIRECTIVES,
    )
    # The machine is written with the vectors of GCC and clang.
    return [*compiled, machine()] if os.name == "posix" else compiled


def write_codes() -> None:
    """Write the codes of the op table down as constants of C, for `cimport`; see core/codes.py."""
    table = runpy.run_path(str(PACKAGE / "core" / "ops.py"))["TABLE"]
    text = "cdef enum:\n" + "".join(f"    {row.name.upper()} = {row.code}\n" for row in table)
    path = WRITTEN / "minigrad_codes.pxd"
    if not path.exists() or path.read_text(encoding="utf-8") != text:  # else Cython works anew
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _are_of_other_directives() -> bool:
    """Tell whether C files lie here that were written before this file was changed."""
    now = Path(__file__).stat().st_mtime
    return any(path.stat().st_mtime < now for path in WRITTEN.rglob("*.c"))


def machine() -> Extension:
    """Describe the extension that runs compiled programs."""
    files = sorted(str(path.relative_to(ROOT)) for path in (PACKAGE / "native/vm").rglob("*.[ch]"))
    return Extension(
        "minigrad._vm",
        [path for path in files if path.endswith(".c")],
        include_dirs=["src/minigrad/native"],
        depends=files,
        libraries=["m"],
        # -Wno-psabi: vectors are never handed to a function of another file.
        extra_compile_args=[
            *("-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
            *("-Wno-psabi", "-Wno-unused-function", "-fvisibility=hidden"),
        ],
    )


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildEngine})
