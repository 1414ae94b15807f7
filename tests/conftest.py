"""Shared by all tests: hypothesis settings, and the rule for oracles that may not be installed."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))  # helpers: precise, programs, networks
# Tests of passes are to run them, and nothing of the user's is to be touched; children inherit it.
os.environ.setdefault("MINIGRAD_CACHE", "0")

settings.register_profile(
    "minigrad",
    # In CI's lane of the pure engine, a third of the examples: the native one has had them all.
    max_examples=33 if os.environ.get("MINIGRAD_EXPECT_ENGINE") == "pure" else 100,
    deadline=None,  # no wall-clock assertion, not even hypothesis's
    derandomize=True,  # the same examples everywhere
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("minigrad")


def sources(folder):
    """Tell which files of the package each native module is made from."""
    from minigrad.core.native_or_pure import NATIVE

    native = folder / "native"
    found = {
        name: [*folder.glob(f"{name.replace('.', '/')}.p*"), folder / "core" / "node.pxd"]
        for name in NATIVE
    }
    # Their headers are printed by Python; see `header_texts` in setup.py.
    rules = [folder / "core" / "ops.py", folder / "maths" / "symbols.py"]
    rules += (folder / "codegen").glob("*.py")
    found["scalar"] += [*rules, *(native / "nodes").glob("*.h")]
    found["core.backward"] += (native / "nodes").glob("*.h")
    found["_vm"] = [*rules, folder / "optim.py", *(native / "vm").rglob("*.[ch]")]
    setup = Path(__file__).parent.parent / "setup.py"  # the flags
    return {name: [*paths, setup] for name, paths in found.items()}


def pytest_configure(config):
    """Refuse to test a native engine that is older than its source."""
    import minigrad

    folder = Path(minigrad.__file__).parent
    installed = folder.parent != Path(__file__).parent.parent / "src"  # whole, from a wheel
    if installed or minigrad.engine() == "pure":
        return
    for name, paths in sources(folder).items():
        built = folder / f"{name.replace('.', '/')}{sysconfig.get_config_var('EXT_SUFFIX')}"
        if max(path.stat().st_mtime for path in paths) > built.stat().st_mtime:
            pytest.exit(f"the native {name} is older than its source; run: pip install -e .", 4)


def is_smoke(config) -> bool:
    return config.option.markexpr == "smoke"


def pytest_ignore_collect(collection_path, config):
    """With `-m smoke` alone, import only the files that have such tests: most of them have none."""
    if is_smoke(config) and collection_path.suffix == ".py":
        return "mark.smoke" not in collection_path.read_text(encoding="utf-8") or None
    return None


def pytest_pycollect_makeitem(collector, name, obj):
    """With `-m smoke` alone, do not make thousands of tests only to leave them out again."""
    if name.startswith("test") and is_smoke(collector.config):
        marks = [*collector.iter_markers(), *getattr(obj, "pytestmark", [])]
        return None if any(mark.name == "smoke" for mark in marks) else []
    return None


def pytest_xdist_auto_num_workers(config):
    """A few seconds of tests are over before other processes have started."""
    return 0 if is_smoke(config) else None


def oracle(name: str):
    """Import an oracle; where it is missing, skip with a hint, or fail if it was promised."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        absent(f"{name} is not installed ({error}); CONTRIBUTING.md tells how to add the oracles")


def absent(hint: str):
    """Skip a test for want of something, or fail it if that was promised to be there."""
    if os.environ.get("MINIGRAD_REQUIRE_ORACLES"):
        pytest.fail(hint)
    pytest.skip(hint)


@pytest.fixture(params=["numpy", "native"])
def backend(request):
    """The ways to run a compiled function, each in its turn."""
    oracle("numpy")
    import minigrad
    from minigrad.compiler.backends import native

    if request.param == "native" and not native.available():
        if minigrad.engine() == "pure":
            pytest.skip("the pure engine has no native machine")
        absent("minigrad._vm is not built; it needs a C compiler")
    return request.param


@pytest.fixture(scope="session")
def torch():
    return oracle("torch")


@pytest.fixture(scope="session")
def jax():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    module = oracle("jax")
    module.config.update("jax_enable_x64", True)
    return module


@pytest.fixture(scope="session")
def micrograd():
    return oracle("micrograd.engine")


FLAGS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run"
).split()


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return os.environ.get("MINIGRAD_BROWSER") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")  # not longer: Playwright keeps an event loop running meanwhile
def chromium():
    """A real browser, or a skip with a hint."""
    api = oracle("playwright.sync_api")
    path = find_chromium()
    if path is None:
        absent("no Chromium on the PATH; install it, or set MINIGRAD_BROWSER to its path")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()
