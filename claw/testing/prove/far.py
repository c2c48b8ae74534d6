"""Not this machine's loopback: platform and model on an address of a network
of their own, whose one link is pulled out and plugged in again.

The whole proof runs in a process of its own, since only one without threads
may enter the namespace; it hands back its Proof.
"""

import json
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

from claw.testing.net_namespace import ADDRESS, enter, set_link
from claw.testing.prove.bench import Bench, Proof
from claw.testing.prove.trouble import cut_and_reset

_SKIPPED = 77


def far_network(bench: Bench, channel: str) -> Proof:
    """Cables are pulled; then connections break."""
    options = {"root": str(bench.root), "seed": bench.seed,
               "short": bench.short, "keep": bench.keep}
    done = subprocess.run(
        [sys.executable, "-m", "claw.testing.prove.far", channel,
         json.dumps(options)], capture_output=True, check=False)
    words = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode == _SKIPPED:
        return Proof(f"far-{channel}", channel, skipped=words)
    if done.returncode:
        return Proof(f"far-{channel}", channel, broken=[words[-600:]])
    proof = pickle.loads(done.stdout)  # our own child's
    assert isinstance(proof, Proof)
    return proof


def main(channel: str, options: str) -> int:
    given = json.loads(options)
    try:
        enter()
    except OSError as error:
        sys.stderr.write(f"no network of its own: {error}")
        return _SKIPPED
    bench = Bench(Path(given.pop("root")), host=ADDRESS, **given)
    proof = cut_and_reset(bench, Proof(f"far-{channel}", channel),
                          off=partial(set_link, up=False),
                          on=partial(set_link, up=True))
    sys.stdout.buffer.write(pickle.dumps(proof))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2]))
