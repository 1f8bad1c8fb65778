"""The user's own lines: in tracebacks, for debuggers, coverage and `inspect`; what is converted, when, and how often."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import os
import subprocess
import sys
import tempfile
import threading
import traceback

import pytest

import graphad as tf
from graphad.autograph import convert, scan, source
from graphad.autograph.call import of


def clipped(x, limit=3.0, *, factor=2.0):
    """Keeps to a limit."""
    if x > limit:
        x = limit * factor
    return x


def failing(x, flag):
    if flag:
        for i in [1, 2]:
            while True:
                raise KeyError(
                    "here",
                )
    return x


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


def test_a_traceback_through_python_control_flow_shows_the_users_lines_alone():
    with pytest.raises(KeyError) as caught:
        of(failing)(tf.constant(1.0), True)
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__][1:]
    assert all(f.filename == __file__ for f in traceback.extract_tb(caught.value.__traceback__))
    assert {f.name for f in frames} == {"failing"}
    assert frames[-1].lineno == line_of(failing, "raise KeyError")
    assert [f.lineno for f in frames] == sorted(f.lineno for f in frames)


def staged(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total = total + tf.reshape(v, [7])
    return total


def test_an_error_in_a_staged_loop_names_its_line():
    with pytest.raises(ValueError, match="reshape") as caught:
        tf.function(staged)(tf.constant([1.0, 2.0]))
    assert f"{__file__}:{line_of(staged, 'tf.reshape')} in staged" in "".join(caught.value.__notes__)


def test_debuggers_and_coverage_see_the_lines_that_run():
    seen = set()

    def tracer(frame, event, _):
        if frame.f_code.co_filename == __file__ and event == "line":
            seen.add((frame.f_code.co_name, frame.f_lineno))
        return tracer

    made = of(clipped)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        made(5.0)
        made(1.0)
    finally:
        sys.settrace(before)
    first = line_of(clipped, "if x > limit")
    assert {("clipped", first), ("clipped", first + 1), ("clipped", first + 2)} <= seen


def test_inspect_finds_the_function_as_it_was_written():
    made = of(clipped)
    assert made is not clipped
    assert inspect.getsource(made) == inspect.getsource(clipped)
    assert inspect.signature(made) == inspect.signature(clipped)
    assert (made.__name__, made.__qualname__, made.__doc__) == ("clipped", "clipped", "Keeps to a limit.")
    assert made.__module__ == clipped.__module__
    assert made(9.0, factor=1.0) == 3.0
    assert tf.function(clipped).python_function is clipped


def test_to_code_shows_python_that_does_the_same():
    code = tf.autograph.to_code(tf.function(clipped))
    assert code.startswith("def clipped(x, limit=None, *, factor=None):")
    assert "ag__.if_(x > limit, if_body, else_body, ('x',))()" in code
    names = {"ag__": __import__("graphad.autograph.operators", fromlist=["x"]), "tf": tf}
    exec(code, names)
    assert names["clipped"](9.0, 3.0, factor=2.0) == 6.0
    assert tf.autograph.to_code(lambda x: x if x > 0.0 else -x).startswith(
        "lambda x: ag__.if_expression(x > 0.0"
    )


def test_to_graph_converts_functions_and_methods():
    class Thing:
        scale = 3.0

        def run(self, x):
            return x * self.scale if x > 0.0 else x

    assert tf.autograph.to_graph(clipped)(tf.constant(9.0)) == 6.0
    method = tf.autograph.to_graph(Thing().run)
    assert tf.function(method, autograph=False)(tf.constant(2.0)).numpy() == 6.0
    with pytest.raises(TypeError, match="is not a Python function"):
        tf.autograph.to_graph(3)
    assert list(tf.autograph.to_graph(numbers)()) == [1]


def numbers():
    yield 1


pair = (lambda x: x if x > 0.0 else -x), (lambda x: -x if x > 0.0 else x)


def test_lambdas_on_one_line_are_told_apart():
    assert [tf.function(f)(tf.constant(2.0)).numpy() for f in pair] == [2.0, -2.0]


def repeated(f):
    def wrapper(*args):
        return f(*args) + f(*args)

    return wrapper


@repeated
@repeated
def decorated(x):
    if x > 0.0:
        return x
    return x * 0.0


def test_decorators_in_between():
    f = tf.function(decorated)
    assert (f(tf.constant(2.0)).numpy(), f(tf.constant(-2.0)).numpy()) == (8.0, 0.0)


class Private:
    def __init__(self):
        self.__state = 1.0

    def __helper(self, x):
        if x > 0.0:
            self.__state = self.__state + x
        return self.__state

    def run(self, x):
        def inner(v):
            return self.__helper(v) * 2.0

        out = inner(x)
        self.__state = 1.0
        return out

    choose = staticmethod(lambda x: x if x > 0.0 else -x)


def test_private_names_of_classes():
    assert tf.function(Private().run)(tf.constant(2.0)).numpy() == 6.0
    assert tf.function(Private().run)(tf.constant(-2.0)).numpy() == 2.0
    assert tf.function(Private.choose)(tf.constant(-2.0)).numpy() == 2.0


def test_inner_classes_and_decorated_inner_functions_are_converted_when_called():
    @tf.function
    def f(x):
        class Inner:
            def run(self, v):
                if v > limit:
                    return v
                return -v

        @repeated
        def twice(v):
            return v if v > 0.0 else v * 0.0

        limit = 1.0
        return Inner().run(x) + twice(x)

    assert f(tf.constant(2.0)).numpy() == 6.0
    assert f(tf.constant(-2.0)).numpy() == 2.0


def test_nonlocal_names_changed_in_branches():
    @tf.function
    def f(x):
        total = x

        def add(v):
            nonlocal total
            if v > 1.0:
                total = total + v
            else:
                total = total - v

        add(x)
        add(x * 0.1)
        return total

    assert f(tf.constant(3.0)).numpy() == pytest.approx(3.0 + 3.0 - 0.3)


def test_closures_share_their_variables_with_the_converted_function():
    count = 0

    def f(x):
        nonlocal count
        if x > 0.0:
            x = -x
        count += 1
        return x

    tf.function(f)(tf.constant(1.0))
    assert count == 1


def test_a_function_is_converted_once_and_each_closure_gets_its_own(monkeypatch):
    def make(k):
        def f(x):
            if x > 0.0:
                return x * k
            return x

        return f

    converted = []
    made = convert._make
    monkeypatch.setattr(convert, "_make", lambda f, *rest: converted.append(f.__code__) or made(f, *rest))
    a, b = make(2.0), make(3.0)
    assert tf.function(a)(tf.constant(1.0)).numpy() == 2.0
    assert converted.count(a.__code__) == 1
    assert tf.function(b)(tf.constant(1.0)).numpy() == 3.0
    assert converted.count(a.__code__) == 1  # one code, converted once


def test_functions_that_need_no_conversion_are_not_read():
    def plain(x):
        return tf.reduce_sum(tf.sin(x) * 2.0, axis=0)

    def calls_plain(x):
        return plain(x) + plain(x)

    def calls_other(x):
        return clipped(plain(x))

    assert not scan.needs_conversion(plain)
    assert not scan.needs_conversion(calls_plain)
    assert scan.needs_conversion(calls_other)
    assert of(plain) is plain


@pytest.mark.parametrize(
    "f",
    [
        lambda f, x: f(x),
        lambda x: x.method(),
        lambda x: [v for v in x],
        lambda x: not x,
        lambda x: x and 1,
        lambda x: x if x else 0,
        lambda x: 0 < x < 1,
        lambda x: int(x),
        lambda *x: clipped(*x),
        lambda x: clipped(x, factor=1.0),
        lambda x: (lambda y: y if y else x)(x),
    ],
)
def test_whatever_may_branch_is_converted(f):
    assert scan.needs_conversion(f)


def test_importing_graphad_and_tracing_plain_functions_needs_no_syntax_trees():
    code = (
        "import sys, graphad as tf\n"
        "f = tf.function(lambda x: tf.sin(x) * 2.0)\n"
        "f(tf.constant(1.0))\n"
        "names = ('graphad.autograph.rewrite', 'graphad.autograph.loops', 'graphad.autograph.source')\n"
        "print([n for n in names if n in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_code_of_a_notebook_has_its_source_in_linecache():
    source = "def f(x):\n    if x > 0.0:\n        return x\n    return -x\n"
    name = "<cell 1>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {}
    exec(compile(source, name, "exec"), names)
    try:
        assert tf.function(names["f"])(tf.constant(-2.0)).numpy() == 2.0
    finally:
        del linecache.cache[name]


def test_a_file_that_has_changed_is_not_believed():
    name = "<changed>"
    names = {}
    exec(compile("def f(x):\n    return x if x > 0.0 else -x\n", name, "exec"), names)
    other = "def g(a, b):\n    return a if b else b\n"
    linecache.cache[name] = (len(other), None, other.splitlines(True), name)
    try:
        with pytest.raises(TypeError, match=r"<changed> has changed since f was imported from it"):
            tf.function(names["f"])(tf.constant(-2.0))
    finally:
        del linecache.cache[name]


def test_threads_convert_the_same_function_at_once():
    source = "def f(x):\n    for v in [1.0, 2.0]:\n        if x > v:\n            x = x + v\n    return x\n"
    name = "<threads>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names, found = {}, []
    exec(compile(source, name, "exec"), names)
    threads = [
        threading.Thread(target=lambda: found.append(tf.function(names["f"])(tf.constant(1.5)).numpy()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del linecache.cache[name]
    assert found == [4.5] * 4


def test_methods_of_python_run_eagerly_as_they_are():
    tf.config.run_functions_eagerly(True)
    try:
        assert tf.function(clipped)(tf.constant(9.0)) == 6.0
        assert tf.function(staged_sum)(tf.constant([1.0, -2.0, 3.0])).numpy() == 4.0
    finally:
        tf.config.run_functions_eagerly(False)


def staged_sum(x):
    total = 0.0
    for v in x:
        tf.autograph.experimental.set_loop_options(maximum_iterations=10)
        if v > 0.0:
            total = total + v
    return total


def test_trace_prints_while_a_function_is_traced(capsys):
    @tf.function
    def f(x):
        tf.autograph.trace("value", x)
        return x

    f(tf.constant(1.0))
    f(tf.constant(2.0))
    out = capsys.readouterr().out
    assert out.count("value") == 1
    assert "shape=()" in out


def test_features_are_listed():
    feature = tf.autograph.experimental.Feature
    assert feature.ALL not in feature.all()
    assert set(feature.all_but(feature.LISTS)) == set(feature.all()) - {feature.LISTS}


def codes_of(code):
    for const in code.co_consts:
        if isinstance(const, type(code)):
            yield const
            yield from codes_of(const)


@pytest.mark.parametrize("module", ["argparse", "inspect", "typing", "enum", "contextlib", "unittest.mock"])
def test_a_function_parsed_alone_is_the_one_of_the_whole_file(module):
    path = importlib.import_module(module).__file__
    lines = linecache.getlines(path)
    found = 0
    text = "".join(lines)
    named = {
        x.name for x in ast.walk(ast.parse(text)) if isinstance(x, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    for code in codes_of(compile(text, path, "exec")):
        # From Python 3.12 the value of a type alias is code too, under the name of the alias; from 3.14 annotations are.
        if code.co_name in named - {"__annotate__"} and code.co_flags & inspect.CO_OPTIMIZED:
            alone, whole = source._alone(lines, code), source._in_file(text, code)
            if alone is not None:
                found += 1
                assert ast.dump(alone.node, include_attributes=True) == ast.dump(
                    whole.node, include_attributes=True
                )
                assert alone.owner == whole.owner, code.co_qualname
    assert found > 20


HARD = '''
class Outer:
    def plain(self):
        text = """
def other():
    pass
"""
        return self.__text, text

    @property
    def spread(
        self,
    ):
        # a comment
# further out
        return [
    1,
]

    def declares(self):
        global helper
        def helper(x):
            return x.__name
        return helper

def one_line(x): return x if x else -x
'''


def test_what_reaches_beyond_its_indentation_is_found_as_well():
    lines = HARD.splitlines(keepends=True)
    owners = {}
    for code in codes_of(compile(HARD, "hard", "exec")):
        if code.co_flags & inspect.CO_OPTIMIZED:
            found = source._alone(lines, code) or source._in_file(HARD, code)
            owners[found.node.name] = found.owner
            assert found.node.end_lineno >= source._last_line(code)
    assert owners == {
        "plain": "Outer",
        "spread": "Outer",
        "declares": "Outer",
        "helper": "Outer",
        "one_line": None,
    }


def test_loops_of_python_import_nothing_that_only_loops_over_tensors_need():
    program = (
        "import sys, graphad\n"
        "@graphad.function\n"
        "def f(x, n):\n"
        "    for i in range(n):\n"
        "        x = x * i\n"
        "    return x\n"
        "f(graphad.constant(1.0), 3)\n"
        "print([n for n in ('graphad.autograph.loops', 'graphad.ops.control.scan') if n in sys.modules])\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as stream:
            stream.write(program)
        root = os.path.dirname(os.path.dirname(tf.__file__))
        shown = subprocess.run(
            [sys.executable, path], env={**os.environ, "PYTHONPATH": root}, capture_output=True, text=True
        )
    assert shown.stdout.strip() == "[]", shown.stderr


class Plain:
    def call(self, x):
        return x * 2.0


class Named(Plain):
    """Its methods say the name of the class they are in."""

    FACTOR = 3.0
    scaled = staticmethod(lambda x: Named.FACTOR * x if x > 0.0 else x)

    def __init__(self):
        self.__hidden = 2.0

    def call(self, x):
        if tf.reduce_sum(x) > 0.0:
            return super(Named, self).call(x) * Named.FACTOR * self.__hidden  # noqa: UP008
        return super().call(x)

    def __call__(self, x):
        return self.call(x) if isinstance(self, Named) else x


def test_methods_find_the_class_they_are_in_by_its_name():
    named = Named()
    for f in (named.call, named, lambda x: named(x)):
        assert tf.function(f)(tf.constant([1.0])).numpy().tolist() == [12.0]
        assert tf.function(f)(tf.constant([-1.0])).numpy().tolist() == [-2.0]
    assert tf.function(Named.scaled)(tf.constant(2.0)) == 6.0


def test_methods_find_a_class_of_a_function_by_its_name():
    class Local(Plain):
        FACTOR = 4.0

        def call(self, x):
            return super(Local, self).call(x) * Local.FACTOR if x > 0.0 else x  # noqa: UP008

        class Inner:
            def call(self, x):
                return Local.FACTOR * x if x > 0.0 else x

    assert tf.function(Local().call)(tf.constant(1.0)) == 8.0
    assert tf.function(Local.Inner().call)(tf.constant(1.0)) == 4.0


def until_return(x, n):
    step = tf.constant(0)
    while True:
        x = x * 1.5
        step += 1
        if step > n:
            return x * x


def until_return_of_an_inner_loop(x, n):
    while True:
        for _ in tf.range(n):
            x = x + 1.0
            if x > 30.0:
                return x
            if x > 20.0:
                break
        x = x * 1.5


@pytest.mark.parametrize("f", [until_return, until_return_of_an_inner_loop])
def test_a_loop_without_end_is_left_by_return(f):
    x, n = tf.constant(1.25), tf.constant(3)
    for g in (f, tf.function(f)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = g(x, n)
        found = y.numpy(), tape.gradient(y, x).numpy()
        if g is f:
            wanted = found
    assert found == pytest.approx(wanted)


class Implicit:
    """What Python calls for a program: a property, an operator, a constructor."""

    def __init__(self, x):
        self.x = x if x > 0.0 else -x

    @property
    def size(self):
        return self.x if self.x > 0.0 else -self.x

    @property
    @tf.function
    def traced_size(self):
        return self.x if self.x > 0.0 else -self.x

    def __getitem__(self, k):
        return self.x if self.x > k else -self.x


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda x, thing: thing.size, "size"),
        (lambda x, thing: thing[0.0], "__getitem__"),
        (lambda x, thing: Implicit(x), "__init__"),
    ],
)
def test_what_python_calls_itself_is_not_converted_and_the_error_says_so(use, name):
    thing = Implicit(tf.constant(1.0))

    @tf.function
    def f(x):
        thing.x = x
        return use(x, thing)

    with pytest.raises(
        TypeError, match=rf" {name} is called by Python itself, .* decorate it with tf\.function"
    ):
        f(tf.constant(-2.0))


def test_a_property_that_is_a_function_may_branch():
    thing = Implicit(tf.constant(1.0))

    @tf.function
    def f(x):
        thing.x = x
        return thing.traced_size

    assert f(tf.constant(-2.0)).numpy() == 2.0
