"""Puts the package on the path, so that the tests run without an installation."""

import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(PACKAGE))
