"""The example of many processes: padding changes nothing, and a run that was killed goes on."""

from __future__ import annotations

import json
import os
import pickle
import random
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import oracle
from launched import BOUND, START, Launched, environment

import minigrad
from minigrad import distributed

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL = {"vocabulary": 5, "layers": 1, "width": 4, "heads": 2, "block": 6, "seed": 3}


@pytest.fixture
def example(monkeypatch):
    """The functions and classes of the example, without running it."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "microgpt", raising=False)
    return SimpleNamespace(**runpy.run_path(str(EXAMPLES / "distributed_gpt.py")))


def names(count, seed=0):
    """Documents of 1 to 9 tokens between edges; the block of the small model has 6."""
    dice = random.Random(seed)
    return [[4, *dice.choices(range(4), k=dice.randint(1, 9)), 4] for _ in range(count)]


@pytest.mark.parametrize("length", [1, 5, 6, 9])
def test_a_padded_name_has_the_loss_and_the_gradient_of_the_name(example, length):
    tokens = [4, *[k % 4 for k in range(length)], 4]
    longer, weights = (rows[0].tolist() for rows in minigrad.padded([tokens[:7]], 7, less=1))
    results = []
    for padded in (False, True):
        model = example.GPT(**SMALL)
        loss = example.padded_loss(model)(longer, weights) if padded else model.loss(tokens)
        loss.backward()
        results.append([loss.data, *(p.grad for p in model.parameters())])
    assert results[1] == pytest.approx(results[0], rel=1e-12, abs=1e-15)


def test_the_processes_share_a_batch_that_depends_on_the_step_alone(example, monkeypatch):
    documents = names(10)
    parts = []
    for rows in (slice(0, 2), slice(2, 4), slice(0, 4)):
        monkeypatch.setattr(distributed, "local_rows", lambda count, rows=rows: rows)
        parts.append(example.Batches(documents, 6, 4))
    for step in (0, 2, 7, 2):  # the third batch begins again at the first name
        first, second, whole = (batches.at(step) for batches in parts)
        for k in (0, 1):
            assert np.array_equal(np.concatenate([first[k], second[k]]), whole[k])
        for k, (tokens, weights) in enumerate(zip(*whole, strict=True)):
            name = documents[(4 * step + k) % 10][:7]
            assert tokens.tolist() == name + [0] * (7 - len(name))
            assert (weights > 0).sum() == len(name) - 1
        assert whole[0].dtype.kind == "i"


@pytest.fixture
def eager_steps(monkeypatch):
    """Training and checkpoints as the example wants them, in Python: for its own logic."""

    def train_step(loss, optimizer, *, backend, mesh, batch, dtype):
        assert (backend, mesh, batch, dtype) == ("jax", "mesh", "data", "float64")

        def step(tokens, weights):
            pairs = zip(tokens.tolist(), weights.tolist(), strict=True)
            total = sum(loss(*pair) for pair in pairs) / len(tokens)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            return total.data

        step.optimizer = optimizer
        return step

    def save(path, step):
        numbers = [p.data for p in step.optimizer.parameters]
        path.write_bytes(pickle.dumps((numbers, step.optimizer.state_dict())))

    def load(path, step):
        numbers, state = pickle.loads(path.read_bytes())
        for parameter, number in zip(step.optimizer.parameters, numbers, strict=True):
            parameter.data = number
        step.optimizer.load_state_dict(state)

    monkeypatch.setattr(minigrad, "train_step", train_step, raising=False)
    monkeypatch.setattr(minigrad, "save_training", save, raising=False)
    monkeypatch.setattr(minigrad, "load_training", load, raising=False)
    monkeypatch.setattr(distributed, "mesh", lambda: "mesh")
    monkeypatch.setattr(distributed, "local_rows", lambda count: slice(0, count))


def test_the_training_goes_on_from_its_checkpoint(example, eager_steps, tmp_path, monkeypatch):
    documents, path = names(12), tmp_path / "gpt.npz"

    def train(checkpoint):
        batches = example.Batches(documents, 6, 3)
        return example.train(example.GPT(**SMALL), batches, 6, "float64", checkpoint, 2)

    begun, losses = train(None)
    assert (begun, len(losses)) == (0, 6)
    reads = example.Batches.at

    def at(self, step):
        if step == 5:
            raise KeyboardInterrupt
        return reads(self, step)

    with monkeypatch.context() as interrupted:
        interrupted.setattr(example.Batches, "at", at)
        with pytest.raises(KeyboardInterrupt):
            train(path)
    assert train(path) == (4, losses[4:])
    assert train(path) == (6, [])
    monkeypatch.setattr(distributed, "is_first", lambda: False)
    assert train(tmp_path / "other.npz")[1] == losses
    assert not (tmp_path / "other.npz").exists()


def test_checkpoints_that_cannot_be_are_refused_before_anything_runs(tmp_path):
    words = {
        "none/gpt.npz": f"there is no folder {tmp_path / 'none'}; make it first.",
        "gpt.bin": "let it end in .npz, or in .safetensors.",
    }
    for name, said in words.items():
        done = subprocess.run(
            [sys.executable, EXAMPLES / "distributed_gpt.py", "--checkpoint", tmp_path / name],
            capture_output=True,
            check=False,
            text=True,
            env=environment(),
        )
        assert done.returncode == 2
        expected = f"distributed_gpt.py: --checkpoint {tmp_path / name}: {said}"
        assert done.stderr.strip() == expected


# ---- with JAX ---------------------------------------------------------------------------------


def launched(path, *options, launcher=("-n", "2")):
    script = f"""
import runpy
sys.path.insert(0, {str(EXAMPLES)!r})
runpy.run_path({str(EXAMPLES / "distributed_gpt.py")!r}, run_name="__main__")
"""
    steps = "--steps 300 --batch 8 --every 20 --samples 2 --json".split()
    return Launched(path, script, *launcher, arguments=[*steps, *options])


def report(run):
    assert run.end() == 0, run.complaints
    (line,) = [line for line in run.lines if line.startswith("[0] {")]
    return json.loads(line.removeprefix("[0] "), parse_constant=pytest.fail)


def wait_for_step(run, step):
    patience = time.monotonic() + START
    while not any(f"step {step} of 300" in line for line in list(run.complaints)):
        assert run.process.poll() is None, run.complaints
        assert time.monotonic() < patience, run.complaints
        time.sleep(0.005)


@pytest.mark.oracle
@pytest.mark.skipif(os.name != "posix", reason="`minigrad launch` is for POSIX")
def test_a_killed_run_goes_on_with_the_numbers_that_it_would_have_had(tmp_path):
    oracle("jax")
    with launched(tmp_path) as run:
        whole = report(run)
    assert (whole["begun"], whole["processes"], len(whole["losses"])) == (0, 2, 300)
    with launched(tmp_path, launcher=("--devices", "4")) as run:
        alone = report(run)
    assert alone["processes"] == 1
    assert alone["losses"][:20] == pytest.approx(whole["losses"][:20], rel=0, abs=1e-12)

    options = ("--checkpoint", str(tmp_path / "gpt.npz"))
    with launched(tmp_path, *options) as run:
        wait_for_step(run, 60)
        run.hit(1, signal.SIGKILL)
        assert run.end(BOUND) == 137
    assert "minigrad launch: rank 1 was killed by SIGKILL after" in run.told()
    again = f"minigrad launch -n 2 {run.script} --steps 300"
    assert f"; the others were ended. Start again with {again}" in run.told()
    assert run.survivors() == []

    with launched(tmp_path, *options) as run:  # so the checkpoint is whole
        wait_for_step(run, 120)
        assert any("going on after step" in line for line in run.complaints)
        run.process.send_signal(signal.SIGTERM)
        assert run.end(BOUND) == 143
    assert "minigrad launch: SIGTERM came; all processes were ended." in run.told()
    assert run.survivors() == []

    with launched(tmp_path, *options) as run:
        rest = report(run)
    assert rest["begun"] >= 100
    assert rest["begun"] % 20 == 0
    assert rest["losses"] == whole["losses"][rest["begun"] :]  # bit for bit
    assert rest["names"] == whole["names"]
