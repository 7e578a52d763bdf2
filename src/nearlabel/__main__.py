"""``python -m nearlabel``."""

import sys

from nearlabel.cli import main

sys.exit(main())
