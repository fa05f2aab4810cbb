"""PyTorch Geometric's example: a two-layer graph convolutional network that labels the nodes of a citation graph."""

import pickle
import shutil
from pathlib import Path

import numpy as np
from recipe import Recipe, Result

NODES, WORDS, TOPICS, TEST, KNOWN = 1200, 300, 7, 300, 140


def prepare(place: Path) -> None:
    import scipy.sparse as sp

    for path in place.iterdir():
        if path.is_dir() and path.name != "examples":
            shutil.rmtree(path)
    draw = np.random.default_rng(0)
    topic = draw.integers(0, TOPICS, NODES)
    likely = np.full((TOPICS, WORDS), 0.02)
    for one in range(TOPICS):
        likely[one, one * 40 : one * 40 + 40] = 0.06
    words = sp.csr_matrix((draw.random((NODES, WORDS)) < likely[topic]).astype(np.float32))
    labels = np.eye(TOPICS, dtype=np.int32)[topic]
    graph: dict[int, list[int]] = {node: [] for node in range(NODES)}
    for node in range(NODES):
        for _ in range(2):
            near = draw.random() < 0.8
            other = int(draw.choice(np.flatnonzero(topic == topic[node]))) if near else int(draw.integers(NODES))
            graph[node].append(other)
            graph[other].append(node)
    raw = place / "data" / "Planetoid" / "Cora" / "raw"
    raw.mkdir(parents=True)
    first = NODES - TEST
    kept = {"x": words[:KNOWN], "y": labels[:KNOWN], "allx": words[:first], "ally": labels[:first], "tx": words[first:]}
    kept |= {"ty": labels[first:], "graph": graph}
    for name, value in kept.items():
        (raw / f"ind.cora.{name}").write_bytes(pickle.dumps(value))
    (raw / "ind.cora.test.index").write_text("\n".join(map(str, range(first, NODES))) + "\n")


RECIPE = Recipe(
    repository="pyg-team/pytorch_geometric",
    commit="5c6461b2305ad068a6d61165b3c55852a11aaa41",
    kind="graph network (GCN), own loop",
    needs=("torch_geometric", "scipy"),
    command=("examples/gcn.py",),
    files=("examples/gcn.py",),
    seconds=8,
    prepare=prepare,
    result=Result(r"Test: (\S+)", "higher"),
)
