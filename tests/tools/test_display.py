"""What objects print, and what they are in a notebook."""

from __future__ import annotations

import html.parser
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import graphad as tf
from graphad.core import tree
from graphad.tools.svg import boxes_of, svg_of


class _Page(html.parser.HTMLParser):
    """Fails on tags that are not closed in order; collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(page: str) -> _Page:
    parsed = _Page()
    parsed.feed(page)
    parsed.close()
    assert parsed.open == []
    return parsed


def model():
    made = tf.keras.Sequential(
        [tf.keras.layers.Dense(3, name="first"), tf.keras.layers.Dense(2, name="last")], name="net"
    )
    made(tf.ones([1, 4]))
    return made


# -- tensors and variables -------------------------------------------------------------------------------------------------


def test_tensors_print_as_numpy_does_with_its_options():
    assert str(tf.constant(0.1)) == "tf.Tensor(0.1, shape=(), dtype=float32)"
    assert str(tf.range(2000)).startswith("tf.Tensor([   0    1    2 ... 1997 1998 1999]")
    x = tf.constant([1 / 3, 2 / 3])
    with np.printoptions(precision=2):
        assert "[0.33 0.67]" in str(x) and "[0.33, 0.67]" in repr(x)
        assert "[0.33, 0.67]" in repr(tf.Variable(x))
        assert "[0.33 0.67]" in read(x._repr_html_()).text
    with np.printoptions(threshold=3, edgeitems=1):
        assert "[0 ... 9]" in str(tf.range(10))
    assert "0.33333334" in str(x)


def test_tensors_in_notebooks_say_shape_range_and_what_is_no_number():
    page = read(tf.constant([[1.0, np.nan], [-2.0, np.inf]])._repr_html_())
    assert "Tensor float32(2, 2), 16 B" in page.text
    assert "from -2.0 to 1.0, 1 NaN, 1 infinite" in page.text
    assert "from 3 to 4" in read(tf.constant([3, 4])._repr_html_()).text
    assert "no elements" in read(tf.zeros([0, 3])._repr_html_()).text
    for kind in (tf.bfloat16, tf.bool, tf.complex64, tf.float16):
        assert kind.name in read(tf.cast(tf.ones([2]), kind)._repr_html_()).text


def test_names_are_escaped():
    hostile = "<script>alert(1)</script>"
    v = tf.Variable(1.0, name=hostile, trainable=False)
    page = read(v._repr_html_())
    assert "script" not in page.tags and hostile in page.text and "not trained" in page.text

    class Holder(tf.Module):
        pass

    holder = Holder()
    holder.parts = {hostile: v}
    page = read(holder._repr_html_())
    assert "script" not in page.tags and hostile in page.text


# -- modules ---------------------------------------------------------------------------------------------------------------


def test_a_module_shows_its_tree_with_shapes_and_counts():
    net = model()
    assert repr(net) == "<Sequential 'net': 23 parameters>"
    assert str(net).splitlines() == [
        "Sequential 'net': 23 parameters",
        "├─ layers[0]: Dense 'first': 15 parameters",
        "│  ├─ kernel: float32(4, 3), 12",
        "│  └─ bias: float32(3,), 3",
        "└─ layers[1]: Dense 'last': 8 parameters",
        "   ├─ kernel: float32(3, 2), 6",
        "   └─ bias: float32(2,), 2",
    ]
    assert "23 parameters, 23 of them trained, 92 B" in read(net._repr_html_()).text


def test_summary_gives_totals_and_goes_where_it_is_told(capsys):
    net = model()
    net.layers[0].trainable = False
    net.summary()
    text = capsys.readouterr().out
    assert text.startswith(f"{net}\n")
    assert "Total parameters: 23 (92 B)\nTrainable parameters: 8\nNon-trainable parameters: 15\n" in text
    assert "Dense 'first': 15 parameters, none of them trained" in text
    said = []
    net.summary(print_fn=said.append)
    net.summary(120, None, said.append, expand_nested=True, show_trainable=True)
    assert said[0] == said.pop()
    assert said == [text[:-1]] and capsys.readouterr().out == ""


def test_shared_parts_count_once_and_circles_end():
    class Node(tf.Module):
        pass

    a, b = Node("a"), Node("b")
    a.v = tf.Variable([1.0, 2.0])
    a.again = a.v
    a.b, b.a = b, a
    b.w = (a.v, tf.Variable(1.0))
    assert tree.counts(a) == (3, 0, 12)
    assert str(a).splitlines() == [
        "Node 'a': 3 parameters",
        "├─ v: float32(2,), 2",
        "├─ again: float32(2,), 2, the same as v",
        "└─ b: Node 'b': 3 parameters",
        "   ├─ a: Node 'a', the same as the whole",
        "   ├─ w[0]: float32(2,), 2, the same as v",
        "   └─ w[1]: float32(), 1",
    ]


def test_modules_of_any_depth_and_without_their_constructor_are_shown():
    class Node(tf.Module):
        def __init__(self):
            pass

    top = below = Node()
    for _ in range(3000):
        below.next = Node()
        below = below.next
    assert str(top).startswith("Node: 0 parameters\n└─ next: Node: 0 parameters")
    assert len(str(top).splitlines()) < tree.MOST_LINES + 2
    assert "Node" in read(top._repr_html_()).text


def test_loaded_models_show_their_parts_too_and_no_control_characters(tmp_path):
    net = model()
    net.parts = {"\x1b[2J": tf.Variable(1.0)}
    tf.saved_model.save(net, tmp_path / "net")
    loaded = tf.saved_model.load(tmp_path / "net")
    assert repr(loaded).endswith("24 parameters>")
    assert "kernel: float32(4, 3), 12" in str(loaded)
    assert "\x1b" not in str(loaded) and "\\x1b[2J" in str(loaded)
    assert "kernel: float32(4, 3), 12" in read(loaded._repr_html_()).text


# -- functions, tapes ------------------------------------------------------------------------------------------------------


def test_a_function_shows_its_signature_and_traces(tmp_path):
    @tf.function
    def scaled(x, factor=2.0, options=(1, 2)):
        return x * factor

    assert repr(scaled) == "<graphad function scaled(x, factor=2.0, options=...) with 0 traces>"
    scaled(tf.ones([3]))
    assert repr(scaled).endswith("with 1 trace>")
    first, second = str(scaled).splitlines()
    assert first == repr(scaled)[1:-1]
    assert second.startswith("  (x: TensorSpec(shape=(3,)") and "factor: Literal[2.0]" in second
    for shown in (scaled, scaled.get_concrete_function(tf.ones([3]))):
        page = read(shown._repr_html_())
        assert "mul(%0" in page.text and "details" in page.tags
    holder = tf.Module()
    holder.f = tf.function(lambda x: x + 1.0, input_signature=[tf.TensorSpec([None])])
    tf.saved_model.save(holder, tmp_path / "holder")
    loaded = tf.saved_model.load(tmp_path / "holder").f
    assert "(x) with 1 trace>" in repr(loaded)
    assert "TensorSpec(shape=(None,)" in str(loaded)
    assert "add(%0" in read(loaded._repr_html_()).text


def test_a_tape_says_what_it_holds():
    tape = tf.GradientTape()
    assert repr(tape) == "<GradientTape, not entered: 0 ops, 0 leaves followed, 0 B held>"
    v = tf.Variable([1.0, 2.0])
    with tape:
        y = v * 2.0 + v * v
        assert repr(tape) == "<GradientTape, recording: 3 ops (2 mul, add), 1 leaf followed, 28 B held>"
    assert "stopped: 3 ops" in str(tape)
    tape.gradient(y, v)
    assert "used: 0 ops" in str(tape)

    @tf.function
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert "1 op (mul), 1 leaf followed" in str(tape)
        return tape.gradient(y, x)

    inside(tf.ones([2]))


# -- graphs ----------------------------------------------------------------------------------------------------------------


def graph_of(program, *specs):
    return tf.function(program).get_concrete_function(*specs).graph


def test_the_picture_of_a_graph_has_a_box_for_all_that_is_used_and_no_overlaps():
    def program(x, w):
        h = tf.nn.relu(x @ w + 1.0)
        return tf.cond(tf.reduce_sum(h) > 0.0, lambda: h * 2.0, lambda: h), tf.shape(x)

    graph = graph_of(program, tf.TensorSpec([None, 3]), tf.TensorSpec([3, 2]))
    boxes, left = boxes_of(graph)
    assert left == 0
    assert sum(box.kind in ("node", "effect") for box in boxes) == len(graph.nodes)
    drawn = [box for box in boxes if box.kind != "pass"]
    for i, a in enumerate(drawn):
        assert all(boxes[j].layer == a.layer - 1 for j in a.reads)
        for b in drawn[:i]:
            apart = (
                a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
            )
            assert apart, (a, b)
    root = ET.fromstring(svg_of(graph))
    text = "".join(root.itertext())
    assert "matmul" in text and "float32[None, 3]" in text and "then: 1 node" in text
    assert float(root.get("width")) >= max(box.x + box.width for box in drawn)


def test_large_graphs_show_their_first_nodes():
    def program(x):
        for _ in range(20):
            x = tf.sin(x)
        return x

    picture = svg_of(graph_of(program, tf.TensorSpec([])), most=5)
    assert picture.count(">sin<") == 5 and "15 more nodes are not shown" in picture
    ET.fromstring(picture)


def test_pictures_escape_names():
    graph = graph_of(lambda x: x * 2.0, tf.TensorSpec([]))
    node = graph.nodes[0]
    node.line = '<b onclick="x">'
    picture = svg_of(graph)
    assert "<b " not in picture and "&lt;b " in picture
    ET.fromstring(picture)


@pytest.mark.parametrize("jit_compile", [True, False])
def test_explain_is_a_page_in_notebooks(jit_compile):
    f = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * 2.0))
    found = tf.explain(f, jit_compile)(tf.ones([5]))
    page = read(found._repr_html_())
    assert "svg" in page.tags and "reduce_sum" in page.text
    assert ("kernel 0" in page.text) is jit_compile
    assert page.tags.count("details") >= (2 if jit_compile else 1)
    assert "<svg" not in str(found)
