"""The proof behind `claw prove`: a real `claw listen` on this machine is
killed, cut off, starved and stopped from outside, and what its people got
is counted.

    with tempfile.TemporaryDirectory() as folder:
        for name in names():
            print(prove(name, Bench(Path(folder))))

A fake platform and a scripted model on this machine; no key, no network.
The harness knows the service only from outside: a process, its config.toml,
what it calls, what lies in its queue.
"""

from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.table import PROMISES, PROOFS, names, prove

__all__ = ["PROMISES", "PROOFS", "Bench", "Proof", "names", "prove"]
