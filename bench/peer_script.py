"""Runs inside the peers' environment: times pycanon's checks and anjana's k-anonymity on one file; prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def main() -> None:
    import numpy
    import pandas
    from anjana.anonymity import k_anonymity as anonymize
    from pycanon import anonymity

    source, names = sys.argv[1], json.loads(sys.argv[2])
    hierarchies = json.load(sys.stdin)
    data = pandas.read_parquet(source)[[*names, "occupation"]]
    found: list[tuple[str, str, float]] = []

    def timed(task: str, peer: str, action: Callable[[], Any]) -> None:
        start = time.perf_counter()
        action()
        found.append((task, peer, time.perf_counter() - start))

    sensitive = ["occupation"]
    timed("k", "pycanon", lambda: anonymity.k_anonymity(data, names))
    timed("alpha of (alpha, k)", "pycanon", lambda: anonymity.alpha_k_anonymity(data, names, sensitive))
    timed("distinct l", "pycanon", lambda: anonymity.l_diversity(data, names, sensitive))
    timed("entropy l", "pycanon", lambda: anonymity.entropy_l_diversity(data, names, sensitive))
    timed("t", "pycanon", lambda: anonymity.t_closeness(data, names, sensitive))
    text = data.astype(dict.fromkeys(names, str))
    levels = {}
    for name in names:
        table = hierarchies[name]
        height = len(next(iter(table.values())))
        values = list(table)
        levels[name] = {level: numpy.array([table[value][level] for value in values]) for level in range(height)}
    timed("k = 5, anonymize", "anjana", lambda: anonymize(text, [], names, 5, 2, levels))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
