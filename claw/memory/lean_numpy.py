"""numpy with one thread for its linear algebra.

OpenBLAS starts a thread a core when it is loaded, and they spin: 57 ms of
CPU on two cores before anything is calculated, and small products take
three times as long. The limit holds from the first import in a process on;
the environment is put back, since the programs that claw starts may want
their cores. Work worth more cores is spread over Python's own threads.
"""

import os

_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_added = [name for name in _LIMITS if name not in os.environ]
os.environ.update(dict.fromkeys(_added, "1"))
try:
    import numpy as np
    import numpy.typing as npt
finally:
    for _name in _added:
        del os.environ[_name]

__all__ = ["np", "npt"]
