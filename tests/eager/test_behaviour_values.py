"""What users of TensorFlow rely on in constants, variables and modules, beside what the other files here hold."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple

import numpy as np
import pytest

import graphad as tf

# -- conversions -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([np.float64(1), 1.0], "float64"),
        ([1.0, np.float64(1)], "float32"),
        ([np.float32(1), 2.0], "float32"),
        ([np.float32(1), np.float64(2)], "float32"),
        ([np.float16(1), 2.0], "float16"),
        ([[np.float64(1), 1.0], [1.0, 1.0]], "float64"),
        ([[], [np.float64(1)]][1], "float64"),
        ([np.ones(2), [1.0, 2.0]], "float64"),
        ([[1.0, 2.0], np.ones(2)], "float32"),
        ([1, np.float64(2)], "float32"),
        ([np.int64(1), 2.5], "float32"),
        ([np.int64(1), np.int64(2)], "int32"),
        ([np.int64(2**40), 1], "int64"),
        ([np.uint8(1), 2], "int32"),
        ([np.arange(2), [1, 2]], "int32"),
        ([np.True_, True], "bool"),
        (np.int64(1), "int64"),
        (np.arange(2), "int64"),
    ],
)
def test_in_a_list_integers_are_small_and_the_first_float_says_which_floats(value, dtype):
    assert tf.constant(value).dtype.name == dtype
    assert tf.Variable(value).dtype.name == dtype


@pytest.mark.parametrize("flag", [True, np.True_, [True, False], np.array([True, False])])
def test_bools_of_python_and_numpy_count_as_numbers_where_numbers_are_asked_for(flag):
    for x in (tf.constant(2.0), tf.constant(2), tf.constant(2.0, tf.float64)):
        want = np.asarray(x) * np.asarray(flag)
        for got in (x * flag, flag * x, tf.function(lambda x: x * flag)(x)):
            assert got.dtype is x.dtype
            np.testing.assert_array_equal(got, want)
    assert tf.constant(flag, tf.float32).dtype is tf.float32
    assert tf.constant(flag).dtype is tf.bool
    assert tf.Variable(1.0).assign(True).numpy() == 1.0


def test_numbers_are_no_bools_and_tensors_of_bools_are_no_numbers():
    with pytest.raises(TypeError, match="Cannot convert 1 to EagerTensor of dtype bool"):
        tf.constant(1, tf.bool)
    with pytest.raises(TypeError):
        tf.constant(1.0) + tf.constant(True)
    with pytest.raises(ValueError, match="mixed types"):
        tf.constant([True, 1])
    assert tf.constant([1, True]).numpy().tolist() == [1, 1]
    assert tf.constant([[1.5], [True]]).dtype is tf.float32
    assert tf.constant([1, True], tf.float32).numpy().tolist() == [1.0, 1.0]


def test_in_an_f_string_a_tensor_reads_like_its_array():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert f"{x}" == str(x.numpy())
    assert f"loss {tf.constant([0.5])}" == "loss [0.5]"
    assert f"{tf.constant(1.25):.1f}" == "1.2"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{x:.2f}"


def test_a_spec_is_made_of_tensors():
    assert tf.TensorSpec.from_tensor(tf.ones([2]), name="x") == tf.TensorSpec([2], tf.float32, "x")
    with pytest.raises(ValueError, match=r"should be a tf\.Tensor, but got type <class 'float'>"):
        tf.TensorSpec.from_tensor(1.0)


# -- variables ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
@pytest.mark.parametrize("traced", [False, True])
def test_what_is_added_to_a_variable_has_its_shape(method, traced):
    v = tf.Variable([1.0, 2.0], name="v")
    update = getattr(v, method)
    if traced:
        update = tf.function(update)
    for wrong in (1.0, [1.0], [[1.0, 1.0]], [1.0, 2.0, 3.0]):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"'v:0' with shape \(2,\).*shapes must be equal"
        ):
            update(tf.constant(wrong))
    np.testing.assert_array_equal(v, [1.0, 2.0])
    update(tf.constant([1.0, 1.0]))
    free = tf.Variable([1.0, 2.0], shape=tf.TensorShape(None))
    with pytest.raises(tf.errors.InvalidArgumentError, match="shapes must be equal"):
        getattr(free, method)(1.0)


# -- modules -----------------------------------------------------------------------------------------------------------------


class Leaf(tf.Module):
    def __init__(self, name=None):
        super().__init__(name)
        self.w = tf.Variable(1.0, name="w")


Pair = namedtuple("Pair", "left right")


class Tree(tf.Module):
    _TF_MODULE_IGNORED_PROPERTIES = tf.Module._TF_MODULE_IGNORED_PROPERTIES | {"hidden"}

    def __init__(self):
        super().__init__()
        self.hidden = tf.Variable(0.0, name="hidden")
        self.pair = Pair({"k": Leaf("inner")}, 3)
        self.row = deque([tf.Variable(2.0, name="row")])
        self.ordered = OrderedDict(z=tf.Variable(3.0, name="z"), a=tf.Variable(4.0, name="a"))
        self.me = self
        self.again = self.row[0]


def test_attributes_that_are_ignored_are_not_searched():
    names = [v.name for v in Tree().variables]
    assert names == ["row:0", "a:0", "z:0", "w:0"]


def test_flattening_gives_what_the_predicate_wants_once_or_with_every_path():
    tree = Tree()
    is_variable = lambda x: isinstance(x, tf.Variable)  # noqa: E731
    assert [v.name for v in tree._flatten(predicate=is_variable)] == ["row:0", "a:0", "z:0", "w:0"]
    with_path = dict(tree._flatten(predicate=is_variable, with_path=True))
    assert list(with_path) == [
        ("again",),
        ("ordered", "a"),
        ("ordered", "z"),
        ("row", 0),
        ("pair", "left", "k", "w"),
    ]
    assert with_path["again",] is with_path["row", 0]
    assert list(tree._flatten(predicate=lambda x: isinstance(x, int), recursive=False)) == [3]
    assert [v.name for v in tree._flatten(predicate=is_variable, attributes_to_ignore=["row", "again"])] == [
        "a:0",
        "z:0",
        "w:0",
    ]
    backwards = tree._flatten(
        predicate=is_variable, attribute_traversal_key=lambda name: -ord(name[0]), recursive=False
    )
    assert [v.name for v in backwards] == ["row:0", "a:0", "z:0"]
    assert [m.name for m in tree._flatten(predicate=lambda x: isinstance(x, tf.Module))] == ["tree", "inner"]


def test_a_container_that_holds_itself_is_flattened_once():
    tree = tf.Module("tree")
    shared = [tf.Variable(1.0)]
    tree.row = [shared, shared, {"a": 2}]
    tree.row.append(tree.row)
    tree.row[2]["b"] = tree.row
    assert list(tree._flatten(predicate=lambda x: isinstance(x, int | tf.Variable))) == [shared[0], 2]
    with_path = tree._flatten(predicate=lambda x: isinstance(x, tf.Variable), with_path=True)
    assert [path for path, _ in with_path] == [("row", 0, 0), ("row", 1, 0)]


def test_keys_without_an_order_are_refused_by_the_attribute_they_are_in():
    tree = Tree()
    tree.mixed = {1: 2, "a": 3}
    with pytest.raises(ValueError, match="Error processing property 'mixed'"):
        list(tree._flatten())


def test_a_module_without_its_constructor_says_so_when_its_scope_is_asked_for():
    class Bare(tf.Module):
        def __init__(self):
            self.v = tf.Variable(1.0)

    assert len(Bare().variables) == 1
    with pytest.raises(AttributeError, match="Bare has no name scope: its constructor must call"):
        _ = Bare().name_scope
    with pytest.raises(ValueError, match="'3' is not a valid module name"):
        tf.Module(3)


@pytest.mark.parametrize("way", ["eager", "tape", "function", "variable"])
def test_a_product_of_bools_is_their_and(way):
    a, b = tf.constant([True, False, True]), tf.constant([True, True, False])

    def products(a, b):
        return a * b, True * a, a * True

    if way == "tape":
        with tf.GradientTape():
            made = products(a, b)
    elif way == "variable":
        made = products(tf.Variable(a), b)
    else:
        made = (tf.function(products) if way == "function" else products)(a, b)
    assert [x.numpy().tolist() for x in made] == [
        [True, False, False],
        [True, False, True],
        [True, False, True],
    ]
    with pytest.raises(TypeError, match="numeric dtype is needed"):
        tf.multiply(a, b)
    with pytest.raises(TypeError):
        a * tf.constant(1.0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.zeros((2, 0), np.float32), "[], shape=(2, 0), dtype=float32"),
        ([[1, 2]], "[[1 2]], shape=(1, 2), dtype=int32"),
        ([[1], [2]], "\n[[1]\n [2]], shape=(2, 1), dtype=int32"),
    ],
)
def test_what_takes_several_lines_begins_on_one_of_its_own(value, shown):
    x = tf.constant(value)
    assert str(x) == f"tf.Tensor({shown})"
    assert repr(x).split("numpy=")[1].startswith("\n") == shown.startswith("\n")


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        ((tf.float32, tf.TensorShape([2])), "tf.float32 TensorShape([2])"),
        ((np.arange(3), "text", 2.5, None), "array([0, 1, 2]) text 2.5 None"),
        ((tf.constant([0.1], tf.float16), tf.constant([0.1])), "[0.0999755859] [0.1]"),
        ((["a", tf.constant(1)], {"b": 2}), "['a', 1] {'b': 2}"),
        (({"b": tf.constant(1), "a": {"d": 2, "c": tf.constant(3)}},), "{'a': {'c': 3, 'd': 2}, 'b': 1}"),
        ((["word" * 10, tf.constant(1), "more" * 10],), f"['{'word' * 10}',\n 1,\n '{'more' * 10}']"),
    ],
)
def test_what_is_no_tensor_is_printed_as_it_is_written(given, printed, tmp_path):
    path = tmp_path / "printed"
    tf.print(*given, output_stream=f"file://{path}")
    assert path.read_text() == printed + "\n"


def test_shapes_that_do_not_broadcast_are_both_named():
    a, b = tf.ones([2]), tf.ones([3])
    for add in (lambda: a + b, lambda: tf.function(tf.add)(a, b)):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"add: Incompatible shapes: \(2,\) and \(3,\)"
        ):
            add()
