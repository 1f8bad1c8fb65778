"""Classes made in converted functions, and what leaves a loop by an object."""

from __future__ import annotations

import pytest

import graphad as tf


def test_a_class_made_in_a_converted_function_has_its_names_and_calls_the_class_above():
    def made(n):
        class Base:
            def __init__(self, value):
                self.value = value

            def above(self):
                return self.value

        class Derived(Base):
            def __init__(self, value):
                super().__init__(value * 2)

            def above(self):
                found = super().above()
                if found > 4:
                    return found * 10
                return found

            def __private(self):
                if self.value > 4:
                    return self.value
                return -self.value

            def private(self):
                return self.__private()

        names.append((Derived.__qualname__, Derived.above.__qualname__, Derived.above.__code__.co_qualname))
        if n > 100:
            n = n - 1
        return Derived(n).above(), Derived(n).private()

    names = []
    traced = tf.function(made)
    for n in (1, 3):
        assert [int(x) for x in traced(tf.constant(n))] == [int(x) for x in made(n)]
    assert len(set(names)) == 1


def test_what_a_step_appends_to_a_list_is_out_of_scope_behind_the_loop():
    @tf.function
    def last(n):
        found = []
        for i in tf.range(n):
            found.append(i)
        return found[-1]

    for kind in (ValueError, TypeError):  # as TensorFlow's errors of other traces, and of eager code
        with pytest.raises(kind, match="out of scope"):
            last(tf.constant(3))
