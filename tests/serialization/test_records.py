"""Records, their codecs, tables: what goes in comes out, with the types it had."""

from __future__ import annotations

import math
import pickle

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serialization.errors import CorruptModelError, LimitExceededError, LoadError, SaveError, shown
from serialization.schema.graph import OP, OpRecord
from serialization.schema.model import MODEL
from serialization.schema.table import Table
from serialization.schema.values import SPEC, VALUE, DictValue, ListValue, SpecRecord, SpecValue
from serialization.wire.codec import FLAG, INDEX, REAL, TEXT, Data, Integer, Many, Maybe, decode, encode
from serialization.wire.limits import Limits
from tests.serialization.sample import sample


def test_record_is_immutable_typed_and_keeps_its_fields_in_order():
    op = OpRecord("add", 1)
    assert (op.name, op.version, op.attributes) == ("add", 1, ())
    assert op == OpRecord(name="add", version=1) and op != ("add", 1, ())
    assert op.replace(version=2) == OpRecord("add", 2)
    assert repr(op) == "OpRecord(name='add', version=1, attributes=())"
    assert pickle.loads(pickle.dumps(op)) == op and hash(op) == hash(OpRecord("add", 1))
    with pytest.raises(AttributeError):
        op.version = 3
    with pytest.raises(AttributeError):
        op.other = 3
    for wrong in (
        lambda: OpRecord("add"),
        lambda: OpRecord("add", 1, (), 4),
        lambda: OpRecord("add", 1, nam=2),
    ):
        with pytest.raises(TypeError, match="fields"):
            wrong()


def test_records_of_two_classes_with_equal_fields_differ():
    assert ListValue((1,)) != DictValue((1,))
    assert SpecValue(1) != (1,)


def test_sample_model_survives_encoding_to_the_last_type():
    body = encode(MODEL, sample())
    again = decode(MODEL, body)
    assert again == sample() and encode(MODEL, again) == body


def test_table_tells_axis_one_from_axis_true_and_zero_from_minus_zero():
    table = Table(OP)
    numbers = [
        table.number(OpRecord("cumsum", 1, (("axis", x),)))
        for x in (1, True, 1.0, 0.0, -0.0, 1, math.nan, math.nan)
    ]
    assert numbers == [0, 1, 2, 3, 4, 0, 5, 5]
    assert len(table.entries()) == 6


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=20),
    st.binary(max_size=20),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.lists(inner, max_size=4).map(lambda items: ListValue(tuple(items))),
        st.dictionaries(st.text(max_size=5), inner, max_size=4).map(lambda d: DictValue(tuple(d.items()))),
    ),
    max_leaves=20,
)


@settings(max_examples=150)
@given(values)
def test_any_value_survives_encoding(value):
    body = encode(VALUE, value)
    assert encode(VALUE, decode(VALUE, body)) == body
    assert repr(decode(VALUE, body)) == repr(value)


@pytest.mark.parametrize(
    ("codec", "wrong"),
    [
        (INDEX, [True, 1.0, "1", b"1", None, -1, 2**31, 2**64 - 1, -(2**63), [], {}, [1]]),
        (REAL, [1, True, "1.0", None]),
        (FLAG, [0, 1, None, "true", 1.0]),
        (TEXT, [b"bytes", 1, None, [], ["a"]]),
        (Data(2), [b"1", b"123", "12", None]),
        (Maybe(INDEX), ["", -1, False]),
        (Many(INDEX), [None, 3, [1, "x"], {}, {"a": 1}, "ab", b"ab"]),
        (SPEC, [["float32", [3], None], ["float99", [3], None, 0], ["float32", [-1], None, 0], ["float32", [True], None, 0],
                ["float32", [3.0], None, 0], ["float32", [2**47 + 1], None, 0], ["float32", [3], None, 2], ["O", [], None, 0],
                [">f4", [3], None, 0], ["object", None, None, 0]]),
        (VALUE, [[], [99], ["0"], [0.0], [True, 1], [2, 1], [2, "a", 1, "a", 2], [2, [1, 1], 0], [4, "object"], [5, -1],
                 [5], [5, 0, 0], [9, 1, 2], [2, math.nan, 1], {"a": 1}]),
    ],
)  # fmt: skip
def test_value_of_another_type_is_refused(codec, wrong):
    for value in wrong:
        with pytest.raises(CorruptModelError):
            decode(codec, msgpack.packb(value))


@pytest.mark.parametrize("code", range(-128, 128))
def test_every_extension_code_is_refused(code):
    for size in (0, 1, 4, 8, 12, 16):
        with pytest.raises(CorruptModelError):
            decode(
                VALUE,
                msgpack.packb(msgpack.ExtType(code, bytes(size))) if code >= 0 else _extension(code, size),
            )


def _extension(code: int, size: int) -> bytes:
    return b"\xc7" + bytes([size, code & 0xFF]) + bytes(size)


def test_longer_forms_of_a_number_or_length_mean_the_same():
    assert (
        decode(INDEX, b"\xcd\x00\x05")
        == decode(INDEX, b"\xd3" + bytes(7) + b"\x05")
        == decode(INDEX, b"\x05")
        == 5
    )
    assert decode(Many(INDEX), b"\xdd\x00\x00\x00\x01\x05") == (5,)
    assert decode(TEXT, b"\xdb\x00\x00\x00\x01a") == "a"


@pytest.mark.parametrize(
    "body",
    [b"\xa2\xff\xfe", b"\xa3\xed\xa0\x80", b"\xa1\x80", b"\xa4\xf8\x88\x80\x80"],
    ids=["bytes", "surrogate", "tail", "five bytes"],
)
def test_strings_must_be_utf8(body):
    with pytest.raises(CorruptModelError, match="UTF-8"):
        decode(TEXT, body)


def test_names_that_look_alike_stay_apart():
    names = ("\u00e9", "e\u0301", "A", "a", "a\0", "\u202ea", "")
    assert decode(Many(TEXT), encode(Many(TEXT), names)) == names


def test_errors_name_the_field_and_escape_what_the_file_says():
    body = msgpack.packb(["add", 1, [["axis", 1], ["bad\n\x1b[31m" + "x" * 200, [4, "evil\n" * 50]]]])
    with pytest.raises(LoadError) as caught:
        decode(OP, body)
    text = str(caught.value)
    assert text.startswith("load: attributes[1].'bad\\n\\x1b[31mxxx") and text.count("x" * 30) <= 3
    assert "\n" not in text and "\x1b" not in text
    assert len(shown("y" * 10**6)) == 80 and shown([1] * 100) == "a list"


def test_limits_are_named():
    with pytest.raises(LimitExceededError, match="'items' allows 3"):
        decode(Many(INDEX), msgpack.packb([1, 2, 3, 4]), Limits(items=3))
    with pytest.raises(LimitExceededError, match="'text_bytes' allows 5"):
        decode(TEXT, msgpack.packb("123456"), Limits(text_bytes=5))
    with pytest.raises(LimitExceededError, match="'data_bytes' allows 5"):
        decode(Data(), msgpack.packb(b"123456"), Limits(data_bytes=5))
    with pytest.raises(LimitExceededError, match="'rank' allows 64"):
        decode(SPEC, encode(SPEC, SpecRecord("bool", (1,) * 65)))


def test_nesting_is_bounded_without_recursion():
    def nested(depth):
        return b"\x92\x00" * depth + b"\xc0"

    assert decode(VALUE, nested(32)) is not None
    for depth in (33, 1000, 1024, 1025, 100_000):
        with pytest.raises(LimitExceededError, match="nesting"):
            decode(VALUE, nested(depth))


def test_records_with_values_that_no_file_can_hold_are_refused_on_save():
    for wrong in (2**64, 1 << 200, object(), {1: 2}, [1], "\ud800"):
        with pytest.raises(SaveError):
            encode(OP, OpRecord("op", 1, (("a", wrong),)))
    for op in (OpRecord(1, 1), OpRecord("op", True), OpRecord("op", 1.0), "op", OpRecord("op", 1, (("a",),))):
        with pytest.raises(SaveError):
            encode(OP, op)


def test_bytes_after_the_end_are_refused():
    with pytest.raises(CorruptModelError, match="3 bytes follow"):
        decode(Integer(), b"\x01\x01\x01\x01")
