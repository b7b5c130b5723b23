"""Makes the scripts of resources/python importable in their tests."""

import sys

from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "resources" / "python"))
