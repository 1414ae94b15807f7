"""Load a stranger's file statement by statement, and those that it imports from beside it.

A file need not come to its end: what raises is left out, and the next statement runs, as in a
notebook. What takes long ends the loading (`SlowError`); it is then begun anew with definitions
alone: imports, functions, classes, plain assignments, and whatever sets an attribute of a class.

Modules are looked for beside the file, then in the folders above it up to its repository's, and
only then among the installed ones: somebody's own package may have the name of a famous one, or
of this one. Large ones are put off, and what is not there has a stand-in (`standins.py`).

This runs in the sandbox. Start at `Loading.load`.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType

from .needs import Needs, has_imports
from .notebooks import Cells, is_notebook, place_of, read_notebook
from .reading import UnreadableError, cells_of, content_of, parsed
from .standins import DRAWING, LARGE, Absent, Deferred

SIGNS = (".git", "pyproject.toml", "setup.py", "setup.cfg")  # of a repository's own folder
LEVELS = 5  # of folders above a file, if none of them has such a sign
NOTEBOOK = 30  # times as large as a file of text may be a notebook, which has pictures in it
PATIENCE = 1.0  # CPU seconds for all statements that define nothing
SHORT = 0.5  # CPU seconds for each statement, where only definitions are loaded
IMPORT = 10.0  # CPU seconds for a statement with imports in it, such as a try
SLEEP = 10.0  # seconds by the clock, for those that sleep


class SlowError(BaseException):
    """Loading takes too long; not an Exception, which the stranger's code may catch."""


@dataclass(slots=True)
class Loading:
    """How one subject is loaded, and what became of it."""

    largest: int  # bytes of a file
    only_definitions: bool = False
    is_timed: bool = True  # by signals, which not every system and no thread has
    home: str = ""  # nothing at or above it is anybody's repository
    folders: list[str] = field(default_factory=list)  # where its modules are, nearest first
    texts: dict[str, Cells] = field(default_factory=dict)  # of the files, from before they ran
    left_out: list[str] = field(default_factory=list)
    patience: float = PATIENCE

    def load(self, path: Path) -> ModuleType:
        """Load a file; in a package, as a part of that."""
        self.read(path)
        self.folders = _folders(path, self.home)
        name, packages = self._name_of(path)
        with self._at_hand():
            for package, folder in packages.items():
                self._package(package, folder)
            if name in sys.modules and packages:  # its package has imported it
                return sys.modules[name]
            loader = _Loader(self, name, str(path))
            spec = importlib.util.spec_from_file_location(name, path, loader=loader)
            if spec is None:
                raise ImportError(f"{path.name} cannot be loaded as a module")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            loader.exec_module(module)
        return module

    def load_text(self, text: str, name: str = "engine") -> ModuleType:
        """Load a text that is in no file."""
        self.texts[f"<{name}>"] = Cells(text)
        module = ModuleType(name)
        sys.modules[name] = module
        self.run(module, f"<{name}>")
        return module

    # ---- files --------------------------------------------------------------------------------

    def read(self, path: Path) -> Cells:
        """Return the text of a file, as it was when it was first read."""
        key = str(path)
        if key not in self.texts:
            is_sheet = is_notebook(path.name)
            content = content_of(path, self.largest * (NOTEBOOK if is_sheet else 1))
            try:
                self.texts[key] = read_notebook(content) if is_sheet else cells_of(content)
            except ValueError as error:
                raise UnreadableError(str(error)) from None
        return self.texts[key]

    def _name_of(self, path: Path) -> tuple[str, dict[str, Path]]:
        """Return what a module is called, and the packages that it is in."""
        depth = _relative_levels(self.texts[str(path)].text)
        folder = path.parent
        folders: list[Path] = []
        while len(folders) < 8 and (
            len(folders) < depth or (path.suffix == ".py" and (folder / "__init__.py").exists())
        ):
            folders.insert(0, folder)
            folder = folder.parent
        names = [part.name.replace(".", "_") or "root" for part in folders]
        names[:1] = [_free(name) for name in names[:1]]
        packages = {".".join(names[: k + 1]): part for k, part in enumerate(folders)}
        if folders:
            self.folders.append(str(folder))
        if path.stem == "__init__" and packages:
            return ".".join(names), packages
        stem = path.stem.replace(".", "_")
        stem = stem if packages or stem not in sys.modules else f"{stem}_"
        return ".".join([*names, stem if packages else _free(stem)]), packages

    def _package(self, name: str, folder: Path) -> None:
        if name in sys.modules and str(folder) in getattr(sys.modules[name], "__path__", ()):
            return
        init = folder / "__init__.py"
        module = ModuleType(name)
        if init.exists():
            loader = _Loader(self, name, str(init))
            spec = importlib.util.spec_from_file_location(
                name, init, loader=loader, submodule_search_locations=[str(folder)]
            )
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
        else:
            module.__path__ = [str(folder)]
        sys.modules[name] = module
        if init.exists():
            with contextlib.suppress(UnreadableError, SyntaxError):
                module.__loader__.exec_module(module)  # type: ignore[union-attr]

    @contextlib.contextmanager
    def _at_hand(self) -> Iterator[None]:
        """Let imports find the stranger's modules first: in the sandbox for ever after."""
        sys.meta_path.insert(0, _Finder(self))
        sys.meta_path.append(_Finder(self, plain_folders=True))
        yield

    def owns(self, name: str) -> bool:
        """Whether a module is one of the stranger's."""
        file = getattr(sys.modules.get(name), "__file__", None)
        return file is not None and (str(file) in self.texts or self.is_beside(str(file)))

    def is_beside(self, place: str) -> bool:
        """Whether a path is in one of the stranger's folders, and not among installed modules."""
        path = Path(place)
        return "site-packages" not in path.parts and any(
            path.is_relative_to(folder) for folder in self.folders
        )

    # ---- statements ---------------------------------------------------------------------------

    def run(self, module: ModuleType, file: str) -> None:
        """Run a text's statements, one after the other."""
        cells = self.texts[file]
        tree = parsed(cells.text, file)
        flags = __future__.annotations.compiler_flag  # as of Python 3.14: they may name their class
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                for alias in node.names:
                    flags |= getattr(__future__, alias.name).compiler_flag
        module.__doc__ = _docstring(tree)
        run = _Run(self, module, file, cells.starts, flags, Needs(tree))
        for node in tree.body:
            for part in _opened(node):
                run.do(part)

    @contextlib.contextmanager
    def timed(self, is_import: bool = False) -> Iterator[None]:
        """End a statement that takes long, by CPU time; one that sleeps by the clock."""
        if not self.is_timed:
            yield
            return
        seconds = SHORT if self.only_definitions else max(self.patience, 0.01)
        seconds = IMPORT if is_import else seconds

        def end(_: int, __: FrameType | None) -> None:
            raise SlowError

        for sign in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(sign, end)
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds, 0.1)
        signal.setitimer(signal.ITIMER_REAL, SLEEP, 0.1)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self.patience -= 0.0 if is_import else time.process_time() - began


@dataclass(slots=True)
class _Run:
    """One text on its way through."""

    loading: Loading
    module: ModuleType
    file: str
    starts: tuple[int, ...]
    flags: int
    needs: Needs

    def do(self, node: ast.stmt) -> None:
        """Run a statement, or leave it out."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
            return
        is_needed = self.needs.wants(node)
        if self.loading.only_definitions and not is_needed:
            self._leave(node)
            return
        Deferred.may_import = is_needed
        try:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self._exec(node)
            else:
                with self.loading.timed(has_imports(node)):
                    self._exec(node)
        except SlowError:
            if not self.loading.only_definitions:
                raise SlowError(f"{self._place(node)} takes long") from None
            self._leave(node, "takes long")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not self.loading.is_timed:
                raise
            if isinstance(error, SystemExit):  # what comes after it is not meant to run
                self.loading.only_definitions = True
            self._leave(node, told(error))
        finally:
            Deferred.may_import = True

    def _exec(self, node: ast.stmt) -> None:
        tree = ast.Module([node], [])
        code = compile(tree, self.file, "exec", flags=self.flags, dont_inherit=True)
        exec(code, self.module.__dict__)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Import one name after the other; one that is not there has a stand-in."""
        for alias in node.names:
            if isinstance(node, ast.Import):
                one: ast.stmt = ast.Import([alias])
                source, name = alias.name, ""
                if not alias.asname:
                    source = alias.name.partition(".")[0]
                bound = alias.asname or source
            else:
                one = ast.ImportFrom(node.module, [alias], node.level)
                source, name = "." * node.level + (node.module or ""), alias.name
                bound = alias.asname or alias.name
            top = source.partition(".")[0]
            if top in LARGE and top not in sys.modules and not self._is_own(top):
                if name != "*":
                    self.module.__dict__[bound] = Deferred(source, name)
                continue
            try:
                self._exec(ast.copy_location(one, node))
            except SlowError:
                raise
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) and not self.loading.is_timed:
                    raise
                self._leave(node, told(error))
                # What a notebook writes to a file and imports from there has been defined above.
                if name != "*" and not inspect.isclass(self.module.__dict__.get(bound)):
                    missing = Absent(f"{source}.{name}" if name else source)
                    self.module.__dict__[bound] = missing

    def _is_own(self, top: str) -> bool:
        return _Finder(self.loading).find_spec(top) is not None

    def _place(self, node: ast.stmt) -> str:
        place = place_of(node.lineno, self.starts)
        is_first = self.file == next(iter(self.loading.texts))
        return place if is_first else f"{Path(self.file).name}, {place}"

    def _leave(self, node: ast.stmt, why: str = "") -> None:
        what = self._place(node) + (f" ({why})" if why else "")
        if what not in self.loading.left_out:
            self.loading.left_out.append(what)


def told(error: BaseException) -> str:
    """Tell an error in one line."""
    try:
        message = str(error)[:300]
    except BaseException:
        message = "…"
    name = "sys.exit" if isinstance(error, SystemExit) else type(error).__name__
    if name == "sys.exit":
        return f"{name}({message})"
    return f"{name}: {message}" if message else name


# ---- finding modules ----------------------------------------------------------------------------


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs a module of the stranger's statement by statement."""

    def __init__(self, loading: Loading, name: str, path: str) -> None:
        super().__init__(name, path)
        self.loading = loading

    def exec_module(self, module: ModuleType) -> None:
        self.loading.read(Path(self.path))
        self.loading.run(module, self.path)


class _AbsentLoader(importlib.abc.Loader):
    """Makes a stand-in for a module that only draws."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds modules of the stranger's; folders without an __init__.py when all else fails."""

    loading: Loading
    plain_folders: bool = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a module, for the import system."""
        top = name.partition(".")[0]
        if top == "minigrad_sandbox":
            return None
        if path is not None:
            if isinstance(sys.modules.get(top), Absent):
                return importlib.machinery.ModuleSpec(name, _AbsentLoader(), is_package=True)
            if not all(map(self.loading.is_beside, path)):
                return None
            return self._tolerant(importlib.machinery.PathFinder.find_spec(name, path))
        nearest = name in sys.stdlib_module_names
        for folder in self.loading.folders[: 1 if nearest else None]:
            spec = importlib.machinery.PathFinder.find_spec(name, [folder])
            is_itself = nearest and spec is not None and spec.origin in self.loading.texts
            if spec is not None and self._is_meant(spec) and not is_itself:
                return self._tolerant(spec)
        if name in DRAWING:
            return importlib.machinery.ModuleSpec(name, _AbsentLoader(), is_package=True)
        return None

    def _is_meant(self, spec: importlib.machinery.ModuleSpec) -> bool:
        if spec.origin is not None:
            return True
        places = [Path(place) for place in spec.submodule_search_locations or ()]
        patterns = ("*.py", "*/*.py")  # a folder may have nothing but folders in it
        has_modules = any(any(p.glob(pattern)) for p in places for pattern in patterns)
        return has_modules and (self.plain_folders or spec.name == "minigrad")

    def _tolerant(
        self, spec: importlib.machinery.ModuleSpec | None
    ) -> importlib.machinery.ModuleSpec | None:
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(self.loading, spec.name, spec.loader.path)
        return spec


def _free(name: str) -> str:
    """Return a name that is not that of a module which everybody knows."""
    is_taken = name in sys.stdlib_module_names or name in LARGE or name == "numpy"
    return f"{name}_" if is_taken else name


def _folders(path: Path, home: str) -> list[str]:
    """List the folders in which a file's modules may be, nearest first."""
    above: list[Path] = []
    for folder in path.parents[: LEVELS + 1]:
        if above and (str(folder) == home or folder.parent == folder):
            break
        above.append(folder)
        if any((folder / sign).exists() for sign in SIGNS):
            break
    return [str(place) for folder in above for place in (folder, folder / "src")]


def _relative_levels(text: str) -> int:
    """Return by how many folders the imports of a text go up."""
    if "from ." not in text:
        return 0
    nodes = ast.walk(parsed(text, ""))
    return max((node.level for node in nodes if isinstance(node, ast.ImportFrom)), default=0)


def _opened(node: ast.stmt) -> list[ast.stmt]:
    """Take the block of a script apart that has its classes in it: nothing else would be there."""
    if not isinstance(node, ast.If) or "__name__" not in ast.dump(node.test):
        return [node]
    return node.body if any(isinstance(part, ast.ClassDef) for part in node.body) else [node]


def _docstring(tree: ast.Module) -> str | None:
    return ast.get_docstring(tree, clean=False) if tree.body else None
