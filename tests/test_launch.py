"""`minigrad launch` with real processes: who ends whom, with which code, and what is said of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from launched import BOUND, Launched, environment, gone
from typer.testing import CliRunner

from minigrad.cli import app, supervisor
from minigrad.cli.launch import _advice, _told

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are those of POSIX")

WAITS = "print('ready', flush=True); time.sleep(600)"


def refused(*arguments):
    done = CliRunner().invoke(app, ["launch", *map(str, arguments)])
    assert done.exit_code == 2
    return done.stderr


# ---- before anything runs ---------------------------------------------------------------------


def test_what_is_refused(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("raise SystemExit(9)")
    assert "no such file; name a Python script" in refused("-n", 2, tmp_path / "none.py")
    assert "--host 2: of 2 hosts the last one is --host 1." in refused(
        "--hosts", 2, "--host", 2, "--coordinator", "a:1", script
    )
    assert "--hosts 2: say where the hosts meet" in refused("--hosts", 2, script)
    for coordinator in ("10.0.0.1", "10.0.0.1:0", "10.0.0.1:65536", ":12", "a b:12"):
        said = refused("--hosts", 2, "--coordinator", coordinator, script)
        assert f'--coordinator {coordinator}: write "host:port", such as' in said
    for options in (["-n", 0], ["--heartbeat", 9], ["--heartbeat", 31], ["--restarts", -1]):
        refused(*options, script)


def test_the_launcher_does_not_load_jax(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("pass")
    program = f"""
import sys
from typer.testing import CliRunner
from minigrad.cli import app
done = CliRunner().invoke(app, ["launch", "-n", "2", {str(script)!r}])
print(done.exit_code, "jax" in sys.modules, "numpy" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=False,
        text=True,
        env=environment(),
    )
    assert done.stdout.split() == ["0", "False", "False"], done.stderr


# ---- what a worker gets, and what becomes of what it prints -----------------------------------


def test_every_rank_is_told_who_it_is_and_its_lines_are_marked(tmp_path):
    script = """
names = "COORDINATOR PROCESSES RANK HEARTBEAT".split()
print(*(os.environ["MINIGRAD_" + name] for name in names))
print("flags", os.environ["XLA_FLAGS"], os.environ["JAX_LOCAL_DEVICE_IDS"])
print("arguments", sys.argv[1:], sys.stdin.read())
print("unfinished", end="", file=sys.stderr)
"""
    arguments = ["--steps", "3", "-n", "x y"]
    options = ["-n", "3", "--heartbeat", "15", "--devices", "4"]
    with Launched(tmp_path, script, *options, arguments=arguments, XLA_FLAGS="--other") as run:
        assert run.end() == 0, run.complaints
    addresses = set()
    for rank in range(3):
        lines = [line for line in run.lines if line.startswith(f"[{rank}] ")]
        address, *rest = lines[1].split()[1:]
        addresses.add(address)
        assert rest == ["3", str(rank), "15"]
        flag = "--xla_force_host_platform_device_count=4"
        assert lines[2] == f"[{rank}] flags --other {flag} {rank}"
        assert lines[3] == f"[{rank}] arguments {arguments} "
        assert len(lines) == 4
        assert f"[{rank}] unfinished" in run.complaints
    assert len(addresses) == 1
    host, port = addresses.pop().split(":")
    assert host == "127.0.0.1"
    assert 0 < int(port) < 65536


def test_a_script_runs_as_python_would_run_it(tmp_path):
    """What a script can see of itself, launched and not."""
    (tmp_path / "beside.py").write_text("word = 'imported'")
    (tmp_path / "far").mkdir()
    script = """
"A docstring."
import __main__, beside, multiprocessing, os, pickle, sys
class Pickled:
    annotated: int
def double(x):
    return 2 * x
if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(Pickled)) is Pickled is __main__.Pickled
    print(__doc__, __file__, sys.argv, beside.word, Pickled.__annotations__)
    print(sys.path[0], [name for name in globals() if "_" not in name])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2]))
    def fail():
        return 1 / 0
    fail()
"""
    (tmp_path / "script.py").write_text(script)
    linked = tmp_path / "far" / "linked.py"
    linked.symlink_to(tmp_path / "script.py")
    results = []
    for options in ([], ["-m", "minigrad", "launch"]):
        done = subprocess.run(
            [sys.executable, *options, "far/linked.py", "a", "b c"],
            capture_output=True,
            check=False,
            text=True,
            cwd=tmp_path,
            env=environment(),
        )
        assert done.returncode == 1
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        results.append([line.removeprefix("[0] ").rstrip() for line in lines])
    plain, launched = results
    assert "ZeroDivisionError: division by zero" in plain
    assert launched[: len(plain)] == plain
    assert launched[len(plain) :][0].startswith("minigrad launch: rank 0 ended with code 1")


def test_a_script_that_is_no_python_shows_where(tmp_path):
    with Launched(tmp_path, "x = = 1") as run:
        assert run.end() == 1
    assert "[0] SyntaxError: invalid syntax" in run.complaints
    assert not any("worker.py" in line for line in run.complaints)


def test_ranks_of_the_second_of_two_hosts(tmp_path):
    script = "print(os.environ['MINIGRAD_COORDINATOR'], os.environ['MINIGRAD_PROCESSES'], rank)"
    options = "-n 2 --hosts 3 --host 1 --coordinator node0:12345".split()
    with Launched(tmp_path, script, *options) as run:
        assert run.end() == 0, run.complaints
    assert {line for line in run.lines if "pid" not in line} == {
        "[2] node0:12345 6 2",
        "[3] node0:12345 6 3",
    }


def test_text_of_workers_does_nothing_to_the_terminal(tmp_path):
    script = r"""
out = sys.stdout.buffer
out.write(b"\x1b[2Jred\x07\ttab\r50%\r100%\n\xff\xfe\n" + b"x" * 100_000 + b"\n")
out.flush()
"""
    with Launched(tmp_path, script) as run:
        assert run.end() == 0, run.complaints
    assert run.lines[1:6] == [
        "[0] ␛[2Jred␇" + " " * 8 + "tab",
        "[0] 50%",
        "[0] 100%",
        "[0] \ufffd\ufffd",
        "[0] " + "x" * supervisor.LONGEST_LINE,
    ]
    assert run.lines[6:] == ["[0] " + "x" * (100_000 - supervisor.LONGEST_LINE)]


def test_a_reader_who_has_had_enough_ends_the_run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import itertools\nfor k in itertools.count(): print(k)")
    launcher = subprocess.Popen(
        [sys.executable, "-m", "minigrad", "launch", "-n", "2", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert launcher.stdout.readline()[:1] == b"["
    launcher.stdout.close()
    said = launcher.stderr.read().decode()
    launcher.stderr.close()
    assert launcher.wait(BOUND) == 1
    assert "minigrad launch: the output was closed; all processes were ended." in said
    assert "Traceback" not in said


# ---- how a run ends ---------------------------------------------------------------------------


def test_all_end_when_one_ends_with_a_code_which_is_then_that_of_the_run(tmp_path):
    script = "print('ready', flush=True); time.sleep(600 if rank != 1 else 0); sys.exit(7)"
    with Launched(tmp_path, script, "-n", "3") as run:
        assert run.end() == 7
    assert "minigrad launch: rank 1 ended with code 7 after" in run.told()
    assert run.told().endswith(" s; the others were ended.")  # the script has said what is wrong
    assert run.survivors() == []


def test_one_that_is_done_waits_for_nobody_and_ends_nobody(tmp_path):
    with Launched(tmp_path, "time.sleep(0.5 * rank); print('done')", "-n", "2") as run:
        assert run.end() == 0
    assert sorted(line for line in run.lines if "done" in line) == ["[0] done", "[1] done"]
    assert run.told() == ""


@pytest.mark.parametrize("victim", [0, 1])
def test_kill_9_of_one_ends_all_and_says_how_to_go_on(tmp_path, victim):
    with Launched(tmp_path, WAITS, "-n", "2", arguments=["--name", "a b"]) as run:
        run.wait_for("ready", 2)
        run.hit(victim, signal.SIGKILL)
        assert run.end(BOUND) == 137
    assert f"minigrad launch: rank {victim} was killed by SIGKILL after" in run.told()
    again = f"minigrad launch -n 2 {run.script} --name 'a b'"
    assert f"; the others were ended. Start again with {again} to go on from the " in run.told()
    assert run.survivors() == []


def test_one_that_ignores_sigterm_and_one_that_is_stopped_are_ended_too(tmp_path):
    script = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAITS
    with Launched(tmp_path, script, "-n", "3") as run:
        run.wait_for("ready", 3)
        run.hit(1, signal.SIGSTOP)
        run.hit(2, signal.SIGABRT)
        assert run.end(BOUND) == 134
    assert "rank 2 was killed by SIGABRT after" in run.told()
    assert "; the others were ended (rank 1 was stopped, as by SIGSTOP)." in run.told()
    assert "JAX does that if another process is silent for 20 s." in run.told()
    assert run.survivors() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_launcher_ends_all_and_whatever_they_have_started(tmp_path, number):
    if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("under nohup nobody hangs up")
    child = "[sys.executable, '-c', 'import time; time.sleep(600)']"
    script = f"print('child', subprocess.Popen({child}).pid, flush=True)\n" + WAITS
    with Launched(tmp_path, script, "-n", "2", "--restarts", "3") as run:
        run.wait_for("ready", 2)
        run.process.send_signal(number)
        assert run.end(BOUND) == 128 + number
        assert len(run.pids("child")) == 2
        assert gone(run.pids("child"), 5)
    assert f"minigrad launch: {number.name} came; all processes were ended." in run.told()
    assert "Starting again" not in run.told()
    assert run.survivors() == []


def test_a_second_signal_shortens_the_grace(tmp_path):
    script = "signal.signal(signal.SIGTERM, lambda *_: print('heard', flush=True))\n"
    script += "print('ready', flush=True)\nwhile True: time.sleep(1)"
    with Launched(tmp_path, script, "-n", "1") as run:
        run.wait_for("ready")
        run.process.send_signal(signal.SIGINT)
        run.wait_for("heard")
        run.process.send_signal(signal.SIGINT)
        assert run.end(BOUND) == 130
    assert run.survivors() == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills children with their parent")
def test_no_worker_outlives_a_launcher_that_is_killed(tmp_path):
    with Launched(tmp_path, WAITS, "-n", "2") as run:
        run.wait_for("ready", 2)
        run.process.kill()
        assert run.end(BOUND) == -9
        assert gone(run.pids())


def test_what_a_worker_leaves_behind_is_ended(tmp_path):
    child = "[sys.executable, '-c', 'import time; time.sleep(600)']"
    with Launched(tmp_path, f"print('child', subprocess.Popen({child}).pid)") as run:
        assert run.end(BOUND) == 0
        assert len(run.pids("child")) == 1
        assert gone(run.pids("child"), 5)


# ---- again ------------------------------------------------------------------------------------


def test_restarts_go_on_from_what_the_script_has_kept(tmp_path):
    kept, looked = tmp_path / "kept", tmp_path / "looked"
    script = f"""
done = os.path.exists({str(kept)!r})
print("done" if done else "first", os.environ["MINIGRAD_COORDINATOR"], flush=True)
if rank == 0:
    open({str(looked)!r}, "w").close()
if not done and rank == 1:
    while not os.path.exists({str(looked)!r}): time.sleep(0.01)
    open({str(kept)!r}, "w").close()
    os.kill(os.getpid(), 9)
time.sleep(0 if done else 600)
"""
    with Launched(tmp_path, script, "-n", "2", "--restarts", "3") as run:
        assert run.end() == 0
    assert sorted(line[:8] for line in run.lines if "done" in line) == ["[0] done", "[1] done"]
    assert run.told().startswith("minigrad launch: rank 1 was killed by SIGKILL after ")
    assert run.told().endswith("; the others were ended. Starting again (1 of 3).")
    assert run.survivors() == []


def test_restarts_come_to_an_end(tmp_path):
    with Launched(tmp_path, "sys.exit(3)", "--restarts", "2") as run:
        assert run.end() == 3
    assert len(run.pids()) == 3
    assert "Starting again (1 of 2)." in run.told()
    assert "Starting again (2 of 2)." in run.told()
    assert run.told().endswith(" s.")


@pytest.mark.smoke
def test_the_words_for_an_end():
    ended = supervisor.Ended(rank=1, code=-99, seconds=12.34)
    assert str(ended) == "rank 1 was killed by signal 99 after 12.3 s"
    assert ended.exit_code == 227
    outcome = supervisor.Outcome(supervisor.Ended(0, 3, 0.25))
    assert _told(outcome, 20) == "rank 0 ended with code 3 after 0.2 s."
    assert _advice(outcome, "x") == ""
