"""The benchmark for devices runs, with small numbers: what it measures is for hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.fake_device
SIZES: dict[str, tuple[list[Any], list[Any]]] = {
    "MLP": ([(4, 6), (6, 6), (6, 4)], [(3, 4), (3, 4)]),
    "attention": ([(4, 4)] * 4, [(2, 3, 4)] * 2),
    "convolution": ([(3, 3, 2, 2)], [(2, 5, 5, 2)] * 2),
    "embedding": ([(20, 4), (4, 5)], [(20, 6), (5, 6)]),
}


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    import gpu as found  # type: ignore[import-not-found]

    def once(runs: dict[str, Any]) -> dict[str, tuple[float, float]]:
        for run in runs.values():
            run()
        return dict.fromkeys(runs, (1.0, 1.0))

    monkeypatch.setattr(found, "measure", once)
    monkeypatch.setattr(found, "PEERS", [])
    return found


@pytest.mark.parametrize("name", SIZES)
def test_a_step_has_the_cpu_s_loss(gpu: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gpu.NETWORKS.keys() == SIZES.keys()
    weights, inputs = SIZES[name]
    if name == "embedding":
        inputs = [gpu.numbers_below(*each) for each in inputs]
    monkeypatch.setitem(gpu.NETWORKS, name, (*gpu.NETWORKS[name][:3], weights, inputs))
    assert list(gpu.rows_of([name])) == []  # nobody is there to be compared with


def test_calls_of_launches(gpu: Any) -> None:
    assert [bar for _, _, bar in gpu.rows_of(["launches"])][:2] == [20.0, 20.0]
