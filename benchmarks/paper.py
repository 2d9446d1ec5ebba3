"""The paper's experiment: run the missing cells, then write tables and plots.

    DLN_DATA=folder python benchmarks/paper.py
    DLN_DATA=folder python benchmarks/paper.py --models knn,dt --datasets Heart --seeds 0,1
    DLN_DATA=folder python benchmarks/paper.py --ablations --datasets Heart,Liver
    python benchmarks/paper.py --no-run

The same as `dln bench`, with the result files of this repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dln.cli import main

RESULTS = Path(__file__).parent / "results" / "paper"

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:], "--results", str(RESULTS)]))
