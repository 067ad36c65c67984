"""How cutting a plan into shards grows: 10,000, 100,000 and 1,000,000 cases over 64 of them."""

from __future__ import annotations

import resource
import time

from conformance.spec.plan import Group
from conformance.spec.shards import Shard, part

SHARDS = 64
CASES_PER_GROUP = 10


def groups(cases: int) -> list[Group]:
    names = tuple(f"sample-{number:04}/plain/function" for number in range(CASES_PER_GROUP))
    return [Group("operators.forward", f"op{n}", "float32", names) for n in range(cases // CASES_PER_GROUP)]


def main() -> None:
    for cases in (10_000, 100_000, 1_000_000):
        made = groups(cases)
        began = time.perf_counter()
        parts = [part(made, Shard(index, SHARDS)) for index in range(1, SHARDS + 1)]
        seconds = time.perf_counter() - began
        if sum(map(len, parts)) != len(made):
            raise SystemExit("the shards are not the plan")
        sizes = [len(found) for found in parts]
        print(
            f"shards   {cases:>9,} cases over {SHARDS}: {seconds:6.2f} s, {max(sizes) / min(sizes):.3f} x the smallest"
        )
    print(f"         {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at most")


if __name__ == "__main__":
    main()
