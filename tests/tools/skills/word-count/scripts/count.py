import sys
from pathlib import Path

sys.stdout.write(f"{len(Path(sys.argv[1]).read_text().split())}\n")
