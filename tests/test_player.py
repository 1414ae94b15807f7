"""The step player: its rows and its page. What a browser makes of them: test_player_browser.py."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import inspect
import json
import math
import re
import zlib

import pytest
from hostile_labels import HARD
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import GRAPHS, diamond, named, neuron

import minigrad
from minigrad import OverwriteError, Value, nn, play, to_html, view
from minigrad.calculus.faults import FAULTS
from minigrad.core.names import brief, readable, width_of
from minigrad.core.scopes import scope
from minigrad.view.from_graph import scene_of
from minigrad.view.player.folded import last_frame
from minigrad.view.player.frames import play_of, widths_of
from minigrad.view.player.page import Options, words


def frames(root):
    return play_of(root, scene_of(root, limit=None))


class Page(html.parser.HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.contents, self.texts = [], [], {}, []
        self.open = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open = (tag, dict(attrs).get("type") or dict(attrs).get("data-player") or "")

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.texts.append((self.open, data))
            self.contents[self.open] = self.contents.get(self.open, "") + data

    @property
    def play(self):
        told = json.loads(self.contents["script", "application/json"])
        return json.loads(zlib.decompress(base64.b64decode(told)))["play"]


# ---- frames -------------------------------------------------------------------------------------

# Units of the diamond: 0 a, 1 b, 2 a*b, 3 c, 4 +, 5 a-c, 6 L. Arrows: 0 a→a*b, 1 b→a*b, 2 a*b→+,
# 3 c→+, 4 a→a-c, 5 c→a-c, 6 +→L, 7 (a-c)→L.


@pytest.mark.smoke
def test_the_play_of_the_diamond():
    play = frames(diamond())
    assert play["forward"] == [
        [2, "a*b: 2*3 = ", "6"],
        [4, "+: 6+4 = ", "10"],
        [5, "a-c: 2-4 = ", "-2"],
        [6, "L: 10*(-2) = ", "-20"],
    ]
    slopes = ["3", "2", "1", "1", "1", "-1", "-2", "10"]
    assert [local for _, _, local in play["arrows"]] == slopes
    assert run(play, "")["rows"] == [
        [6, "-2", "-2"],
        [7, "10", "10"],
        [4, "10", "10"],
        [5, "-10", "-10"],
        [2, "-2", "-2"],
        [3, "-2", "-12"],
        [0, "-6", "4"],
        [1, "-4", "-4"],
    ]
    assert (play["title"], play["value"]) == ("L", "-20")


def run(play, name):
    (found,) = [run for run in play["runs"] if run["name"] == name]
    return found


def test_the_famous_bug_in_the_diamond():
    found = run(frames(diamond()), "overwrite")
    assert found["rows"][5:7] == [[3, "-2", "-2", "-12", 0, 1], [0, "-6", "-6", "4", 0, 1]]
    assert found["wrong"] == [[0, "-6", "4"], [3, "-2", "-12"]]
    assert found["begins"] == [[6, "1"]]


def test_another_local_derivative_is_told():
    # The derivative of a*b with respect to a is taken to be a: 2 instead of 3, times 10.
    rows = run(frames(diamond()), "mul_own")["rows"]
    assert rows[0] == [6, "10", "10", "-2", "10"]
    assert [row[2:5] for row in rows if row[0] == 0] == [["18", "4", "2"]]


def test_a_second_pass_is_played_where_the_first_goes_well():
    found = run(frames(diamond()), "stale_interior")
    assert [0, "4"] in found["first"]
    assert [0, "6"] in found["kept"]
    assert [0, "6", "8"] in found["wrong"]


@pytest.mark.parametrize("make", GRAPHS.values())
def test_every_fault_is_there_and_harmless_ones_have_no_rows(make):
    play = frames(make())
    assert {found["name"] for found in play["runs"]} == {"", *FAULTS}
    for found in play["runs"][1:]:
        assert found["says"] == FAULTS[found["name"]]
        assert ("rows" in found) == ("wrong" in found)


@pytest.mark.parametrize("make", GRAPHS.values())
def test_the_last_frame_has_the_engines_numbers(make):
    root = make()
    play = frames(root)
    data = {unit: text for unit, _, text in play["forward"]}
    grads = {play["arrows"][arrow][0]: after for arrow, _, after in play["runs"][0]["rows"]}
    root.backward()
    units = scene_of(root).units
    for k, unit in enumerate(units):
        assert data.get(k, play["units"][k]["data"]) == brief(unit.data.low)
        assert play["units"][k]["grad"] == brief(unit.grad.low)
        assert grads.get(k, "1") == brief(unit.grad.low)
    assert len(units) - 1 not in grads  # the result has its 1 from the seed


def test_playing_leaves_the_gradients_alone():
    root = diamond()
    root.backward()
    before = {label: node.grad for label, node in named(root).items()}
    play(root)
    assert {label: node.grad for label, node in named(root).items()} == before


def test_cells_are_wide_enough_for_every_right_number():
    play = frames(diamond())
    data, grads = zip(*widths_of(play), strict=True)
    assert data == tuple(len(f"data {number}") for number in (2, 3, 6, 4, 10, -2, -20))
    for needed, columns in zip(("10", "-4", "-2", "-12", "-2", "10", "1"), grads, strict=True):
        assert len(f"grad {needed}") <= columns <= len(f"grad {needed}") + 1
    assert [unit["columns"] for unit in play["units"]] == [*grads]


@pytest.mark.parametrize("fold", [False, True])
def test_inputs_and_outputs_of_a_network_have_names(fold):
    root = nn.MLP(2, [1, 1], seed=1)([0.5, Value(2.0)]) * 3.0
    units = view.player_payload(root, fold=fold)["play"]["units"]
    named = {unit["name"]: unit["labelled"] for unit in units}
    for name in ("x0", "x1", "layer0.neuron0.w1", "layer0.neuron0", "out"):
        assert named[name]
    assert not named["+"]


def test_paths_of_each_unit():
    a = frames(diamond())["units"][0]
    assert (a["name"], a["grad"], a["count"]) == ("a", "4", "2")
    assert a["terms"] == [["10", [4, 7]], ["-6", [0, 2, 6]]]  # a → a-c → L, a → a*b → + → L


def test_more_paths_than_are_listed():
    x = Value(1.0, label="x")
    y = x
    for _ in range(10):
        y = y + y
    unit = frames(y)["units"][0]
    assert (unit["count"], unit["rest"]) == ("1,024", ["1018", "1,018"])
    for _ in range(250):
        y = y + y
    assert frames(y)["units"][0]["count"] == "≈ 1.85e78"  # 2**260


def test_hand_written_rules_with_an_operand_given_twice():
    a, b = Value(2.0, label="a"), Value(3.0, label="b")
    product = Value(a.data * a.data * b.data, (a, a, b), "a²b")

    def rule():
        a.grad += 2 * a.data * b.data * product.grad
        b.grad += a.data**2 * product.grad

    product._backward = rule
    play = frames(product)
    assert play["arrows"] == [[0, 2, "12"], [0, 2, None], [1, 2, "4"]]
    assert play["runs"][0]["rows"] == [[0, "12", "12"], [2, "4", "4"]]
    assert [unit["terms"] for unit in play["units"][:2]] == [[["12", [0]]], [["4", [2]]]]
    assert play["units"][2]["byHand"]


@pytest.mark.parametrize(
    ("start", "frame"), [(0, 0), (14, 14), ("forward", 1), ("backward", 5), ("end", 14)]
)
def test_where_it_opens(start, frame):
    assert f'start="{frame}"' in play(diamond(), start=start).html or not frame


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"start": 15}, ValueError, "start=15: give the number of a step, 0 to 14, or 'forward'"),
        ({"start": "middle"}, ValueError, "start='middle'"),
        ({"start": True}, ValueError, "start=True"),
        ({"lang": "fr"}, ValueError, "play: lang='fr'; choose of en, es."),
        ({"theme": "blue"}, ValueError, "choose of auto, light, dark."),
        ({"fault": "typo"}, ValueError, "fault='typo'; choose of overwrite,"),
        ({"colour": 1}, TypeError, "play: there is no option 'colour'; the options are start,"),
        ({"rankdir": "RL"}, ValueError, "rankdir='RL'; write 'auto', as the window suggests, 'LR'"),
    ],
)
def test_other_options_are_refused_in_words(options, error, words):
    with pytest.raises(error, match=re.escape(words)):
        play(diamond(), **options)


def test_a_fault_that_a_graph_is_too_large_for_is_refused(tmp_path):
    root = diamond()
    for _ in range(130):
        root = (root * 0.5 + 1.0).tanh()
    with pytest.raises(ValueError, match="too large to be replayed"):
        to_html(root, tmp_path / "large.html", fault="overwrite")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("function", [play, to_html])
def test_every_option_is_listed_where_one_is_unknown(function, tmp_path):
    path = [tmp_path / "a.html"] if function is to_html else []
    with pytest.raises(TypeError) as refusal:
        function(diamond(), *path, colour=1)
    listed = str(refusal.value).partition("the options are ")[2].rstrip(".").split(", ")
    known = inspect.signature(function).parameters
    taken = {name for name in known if name not in ("root", "path", "options")}
    assert set(listed) == taken | set(Options.__annotations__)


def test_captions_say_which_numbers_are_from_before():
    a, b = Value(1.0, label="a"), Value(2.0, label="b")
    root = (a * b).tanh() + b.relu()
    assert not [unit for unit in frames(root)["units"] if "stale" in unit]
    a.data = 10.0
    play_now = frames(root)
    assert [unit["name"] for unit in play_now["units"] if "stale" in unit] == ["a*b"]
    assert "a*b is from before; run the forward pass again." in play(root).html
    assert all({"stale", "stale some"} <= language.keys() for language in words().values())


def test_lists_of_values():
    with pytest.raises(ValueError, match="the list is empty; give it the Values to look at"):
        play([])
    with pytest.raises(TypeError, match="play: got float; give it the Value to look at"):
        play([diamond(), 2.0])
    page = check_harmless(play([diamond(), neuron()]).html, players=2)
    assert page.tags.count("minigrad-player") == 2
    assert page.contents["title", ""].startswith("minigrad: L, o")


def test_the_words_are_the_same_in_every_language():
    english, spanish = words()["en"], words()["es"]
    assert set(spanish) - set(english) == {f"fault {name}" for name in FAULTS}
    assert set(english) <= set(spanish)
    for key, text in english.items():
        assert sorted(re.findall(r"{\w+}", text)) == sorted(re.findall(r"{\w+}", spanish[key]))
        assert not set(text) & set('<>&"')  # they go into markup as they are
        assert not set(spanish[key]) & set('<>&"')


def test_parts_for_a_page_of_ones_own():
    element = view.player_element(diamond(), id="first", start="end", lang="es")
    assert element.startswith('<minigrad-player id="first" start="14" lang="es">')
    assert "customElements.define" in view.player_script()
    payload = view.player_payload(diamond())
    assert json.loads(json.dumps(payload)) == payload
    for picture in payload["pictures"].values():
        assert zlib.decompress(base64.b64decode(picture)).startswith(b"<svg ")
    with pytest.raises(ValueError, match="too many nodes to step through"):
        view.player_element(chain_of(400), fold=False)


# ---- the page -----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_the_policy_allows_what_is_in_the_page_and_nothing_else():
    text = play(diamond()).html
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    for tag, source in (("style", "style-src"), ('script type="module"', "script-src")):
        inside = text.split(f"<{tag}>")[1].split(f"</{tag.split()[0]}>")[0]
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert allowed[source] == f"'sha256-{digest}'"
    assert set(allowed) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}


def check_harmless(text, players=1):
    page = Page(text)
    assert page.tags.count("script") <= players + 1
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "href", "action", "style", "background")
        assert "javascript:" not in (value or "") or name in ("aria-label", "data-box")
    assert not {"a", "img", "iframe", "link", "object", "form", "base"} & set(page.tags)
    return page


def check_labels(labels):
    """Fifty labels on one page are a thousand in twenty pages."""
    root = minigrad.sum([Value(2.0, label=label) for label in labels])
    page = check_harmless(play(root).html)
    units = page.play["units"][:-1]
    assert [unit["labelled"] for unit in units] == [bool(label) for label in labels]
    assert [unit["name"] for unit in units] == [readable(label) or "2" for label in labels]
    cells = [text for (tag, _), text in page.texts if tag == "text"]
    for label in labels:
        assert not label or width_of(readable(label)) > 60 or readable(label) in cells


def test_hard_labels_are_text():
    check_labels(HARD)


@settings(max_examples=20)
@given(st.lists(st.text(max_size=40), min_size=50, max_size=50))
def test_a_thousand_labels_are_text(labels):
    check_labels(labels)


def test_operations_and_results_are_text():
    for text in HARD:
        root = Value(1.0, (Value(2.0),), text)
        root.label = text
        check_harmless(play(root).html)


# ---- boxes --------------------------------------------------------------------------------------


def on_two_points():
    """Two neurons on two points, and a loss: f(x) = tanh(w*x + b)."""
    model = nn.MLP(1, [2, 1], activation="tanh", output="linear", seed=1)
    loss = sum((model([x]) - y) ** 2 for x, y in ((0.5, 1.0), (-1.5, 2.0)))
    loss.label = "loss"
    return loss


def boxed(root, **options):
    return view.player_payload(root, fold=True, **options)["play"]


def named_unit(play, name):
    (unit,) = [unit for unit in play["units"] if unit["name"] == name]
    return unit


def grads_after(play, places):
    """What each unit's grad reads when the steps at these places have been gone back along."""
    now = dict(play["seed"])
    for place in reversed(places):
        now |= dict(play["backward"][place])
    return now


def test_a_box_is_a_stretch_of_the_steps():
    play = boxed(on_two_points())
    stretches = {unit["box"]: (unit["from"], unit["to"]) for unit in play["units"] if "box" in unit}
    assert set(stretches) >= {"MLP", "MLP.layer0", "MLP.layer1"}
    first, last = stretches["MLP.layer0"], stretches["MLP.layer1"]
    assert first[1] == last[0]
    assert stretches["MLP"] == (first[0], last[1])
    for unit in play["units"]:
        if unit["level"]:
            start, end = stretches[unit["level"]]
            assert start <= unit["from"] <= unit["to"] <= end
    atoms = [u for u in play["units"] if u["from"] < u["to"] and u.get("box") not in play["levels"]]
    assert sorted(u["from"] for u in atoms) == list(range(len(play["backward"])))
    assert all(u["to"] == u["from"] + 1 for u in atoms)


def test_a_box_of_leaves_is_no_step():
    wired = [[Value(0.1 * k) for k in range(14)] for _ in range(2)]
    h = Value(0.5)
    for _ in range(6):
        with scope("step"):
            h = sum((w * h).tanh() * v for w, v in zip(*wired, strict=True)).tanh()
    play = boxed(h)
    (leaves,) = [unit for unit in play["units"] if unit.get("box") == "leaves"]
    assert (leaves["from"], leaves["nodes"]) == (leaves["to"], 28)
    inside = [unit for unit in play["units"] if unit["level"] == "leaves"]
    assert [unit["nodes"] for unit in inside] == [1] * 28
    assert last_frame(play, []) == last_frame(play, ["leaves"]) == 2 * 6 + 2


def test_grads_of_boxes_are_those_of_the_engine_in_the_end():
    root = on_two_points()
    play = boxed(root)
    now = grads_after(play, range(len(play["backward"])))
    root.backward()
    by_label = {node.label: node.grad for node in minigrad.trace(root)[0] if node.label}
    seen = 0
    for number, unit in enumerate(play["units"]):
        assert now.get(number, "0") == unit["grad"]
        if unit["labelled"] and unit["nodes"] == 1 and "box" not in unit:
            assert unit["grad"] == brief(by_label[unit["name"]])
            seen += 1
    assert seen == 7  # parameters; the loss itself is a run of two additions


@pytest.mark.parametrize("fault", ["overwrite", "mul_own", "missing_seed", "stale_interior"])
def test_faults_over_boxes_end_as_in_an_engine_that_has_them(fault):
    root = on_two_points()
    play = boxed(root)
    (run,) = [run for run in play["runs"] if run["name"] == fault]
    now = {unit: text for unit, text, *_ in [*run.get("first", []), *run["seed"]]}
    for row in reversed(run["rows"]):
        now |= {unit: text for unit, text, *_ in row}
    now |= dict(run.get("kept", []))
    with minigrad.broken(fault):
        for _ in range(2 if "first" in run else 1):
            root.backward()
    by_label = {node.label: node.grad for node in minigrad.trace(root)[0] if node.label}
    wrong = {unit: (text, right) for unit, text, right in run["wrong"]}
    assert wrong
    seen = 0
    for number, unit in enumerate(play["units"]):
        if unit["labelled"] and unit["nodes"] == 1 and "box" not in unit:
            assert now.get(number, "0") == brief(by_label[unit["name"]])
            seen += 1
        if number in wrong:
            assert wrong[number][0] == now.get(number, "0") != wrong[number][1]
        else:
            assert "first" in run or now.get(number, "0") == unit["grad"]
    assert seen == 7


def test_a_fault_that_does_no_harm_has_no_rows_over_boxes_either():
    runs = {run["name"]: run for run in boxed(on_two_points())["runs"]}
    assert "rows" not in runs["exp_input"]
    assert "rows" in runs["overwrite"]


def test_paths_over_boxes_add_up_and_follow_the_arrows_of_every_level():
    root = on_two_points()
    play = boxed(root)
    root.backward()
    by_label = {node.label: node.grad for node in minigrad.trace(root)[0] if node.label}
    ends = {k: (start, end) for k, (start, end) in enumerate(play["arrows"])}
    variables = [unit for unit in play["units"] if unit["name"] in by_label and "terms" in unit]
    assert len(variables) == 7
    for unit in variables:
        total = sum(float(product) for product, *_ in unit["terms"])
        total += float(unit["rest"][0]) if "rest" in unit else 0.0
        assert total == pytest.approx(by_label[unit["name"]], rel=1e-3, abs=1e-3)
        for product, arrows, factors, passed in unit["terms"]:
            assert math.prod(map(float, factors)) == pytest.approx(float(product), rel=1e-2)
            assert passed[0] == play["units"].index(unit)
            assert len(passed) == len(factors) + 1
            # In the level of the variable the arrows lead on from it, and to the result at last.
            assert any(ends[k][0] == passed[0] for k in arrows)
            assert any(ends[k][1] == passed[-1] for k in arrows)


def test_half_of_a_backward_pass_over_boxes():
    """Of x, which two boxes use, the one that comes later has passed its part on first."""
    x = Value(0.5, label="x")
    with scope("first"):
        a = (x * 3.0).sin() + 1.0
    with scope("second"):
        b = (x * 2.0).exp() * 4.0
    play = boxed(a * b)
    unit = play["units"].index(named_unit(play, "x"))
    second = named_unit(play, "second")
    assert second["from"] >= named_unit(play, "first")["to"]
    now = grads_after(play, range(second["from"], len(play["backward"])))
    value = math.sin(1.5) + 1.0
    assert now[unit] == brief(value * 4.0 * 2.0 * math.exp(1.0))
    now = grads_after(play, range(len(play["backward"])))
    slope = 3.0 * math.cos(1.5) * 4.0 * math.exp(1.0)
    assert now[unit] == brief(value * 8.0 * math.exp(1.0) + slope)


def test_playing_boxes_leaves_the_gradients_alone():
    root = on_two_points()
    root.backward()
    before = [node.grad for node in minigrad.trace(root)[0]]
    boxed(root)
    assert [node.grad for node in minigrad.trace(root)[0]] == before


def test_where_a_play_over_boxes_opens():
    root = on_two_points()
    assert ' start="backward"' in view.player_element(root, fold=True, start="backward")
    with pytest.raises(ValueError, match=r"start=99: give the number of a step, 0 to \d+, or"):
        view.player_element(root, fold=True, start=99)


def test_stale_numbers_in_boxes_are_told():
    root = on_two_points()
    assert not any(unit.get("stale") for unit in boxed(root)["units"])
    next(n for n in minigrad.trace(root)[0] if n.label.endswith("layer0.neuron1.b")).data += 1.0
    assert named_unit(boxed(root), "MLP")["stale"]


def test_large_graphs_are_played_box_by_box():
    x = Value(0.5, label="x")
    y = x
    for _ in range(400):
        y = (y + 1.0).tanh()
    text = play(y).html
    page = check_harmless(text)
    assert "minigrad-player" in page.tags
    assert page.play["nodes"] == "1,201"
    assert text.count("data-box=") == 13  # also without a script
    assert "levels" not in Page(play(chain_of(100), limit=201).html).play


def test_what_does_not_fold_gets_a_still_picture():
    text = play(chain_of(400), fold=False).html
    page = check_harmless(text)
    assert "script" not in page.tags
    assert "here are the 80 nodes nearest to the result; a larger limit draws more." in text
    assert "tabindex" not in text.partition("<body")[2]  # nothing to press where nothing happens


def test_boxes_with_hostile_names_are_text():
    for text in filter(None, HARD):
        with scope(text):
            first = (Value(1.0, label=text) * 2.0).tanh()
        check_harmless(play((first + 1.0).sin(), fold=True).html)


def chain_of(steps):
    """A chain: two nodes a step, and a number at its beginning."""
    y = Value(0.5, label="x")
    for _ in range(steps):
        y = y.tanh().sin()
    return y


def test_the_file_is_written_whole(tmp_path):
    target = tmp_path / "page.html"
    to_html(diamond(), target)
    assert target.read_text(encoding="utf-8") == play(diamond()).html
    with pytest.raises(OverwriteError, match="page.html exists already; pass force=True"):
        to_html(neuron(), target)
    with pytest.raises(FileExistsError):
        play(neuron()).save(target)
    to_html(neuron(), target, force=True)
    assert target.read_text(encoding="utf-8") == play(neuron()).html
    with pytest.raises(FileNotFoundError):
        to_html(diamond(), tmp_path / "missing" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_in_a_notebook_the_page_is_in_a_frame_of_its_own():
    player = play(diamond())
    frame = Page(player._repr_html_())
    assert frame.tags == ["style", "iframe"]
    attributes = dict(frame.attributes)
    hosted = attributes["srcdoc"]
    assert hosted.replace(' data-theme="host"', "", 1) == player.html != hosted
    asked = play(diamond(), theme="dark")
    assert dict(Page(asked._repr_html_()).attributes)["srcdoc"] == asked.html
    assert attributes["sandbox"] == "allow-scripts"
    assert "save" in repr(player)
