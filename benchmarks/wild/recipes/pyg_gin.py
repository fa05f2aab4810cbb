"""PyTorch Geometric's example: a graph isomorphism network that labels small molecule-like graphs."""

import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

GRAPHS, ATOMS = 700, 5


def prepare(place: Path) -> None:
    for path in place.iterdir():
        if path.is_dir() and path.name != "examples":
            shutil.rmtree(path)
    draw = np.random.default_rng(0)
    edges, graph_of, atom_of, label_of = [], [], [], []
    for graph in range(1, GRAPHS + 1):
        label, size, start = int(draw.integers(2)), int(draw.integers(10, 20)), len(graph_of) + 1
        ring = 6 if label else 4
        bonds = [(index, (index + 1) % ring) for index in range(ring)]
        bonds += [(index, int(draw.integers(index))) for index in range(ring, size)]
        for one, other in bonds:
            edges += [f"{start + one}, {start + other}", f"{start + other}, {start + one}"]
        graph_of += [graph] * size
        likely = np.array([6, 2, 1 + 2 * label, 3 - 2 * label, 1]) / 13
        atom_of += list(draw.choice(ATOMS, size, p=likely))
        label_of.append(2 * label - 1)
    raw = place / "data" / "TU" / "MUTAG" / "raw"
    raw.mkdir(parents=True)
    kept = {"A": edges, "graph_indicator": graph_of, "node_labels": atom_of, "graph_labels": label_of}
    for name, lines in kept.items():
        (raw / f"MUTAG_{name}.txt").write_text("\n".join(map(str, lines)) + "\n")


RECIPE = Recipe(
    repository="pyg-team/pytorch_geometric",
    commit="5c6461b2305ad068a6d61165b3c55852a11aaa41",
    kind="graph network (GIN), own loop",
    needs=("torch_geometric",),
    command=("examples/mutag_gin.py", "--epochs=50"),
    files=("examples/mutag_gin.py",),
    seconds=13,
    prepare=prepare,
    result=Result(r"Test: (\S+)", "higher"),
)
