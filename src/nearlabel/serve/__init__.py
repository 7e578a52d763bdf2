"""A service of saved models: predictions, explanations and corrections by HTTP, and a page to work with them.

`make_app` returns the application, for a server of your own; ``nearlabel serve`` starts one. A correction is in a
journal on disk before it is acknowledged, and in every later answer.
"""

from nearlabel.utils.naming import import_optional

import_optional("fastapi", extra="serve", purpose="Serving models")
import_optional("prometheus_client", extra="serve", purpose="Serving models")
import_optional("uvicorn", extra="serve", purpose="Serving models")

from nearlabel.serve._app import make_app  # noqa: E402 - after these checks
from nearlabel.serve._guard import LOOPBACK as LOOPBACK  # noqa: E402
from nearlabel.serve._guard import Limits  # noqa: E402
from nearlabel.serve._live import LiveModel  # noqa: E402
from nearlabel.serve._process import Settings as Settings  # noqa: E402
from nearlabel.serve._process import serve as serve  # noqa: E402

__all__ = ["Limits", "LiveModel", "import_optional", "make_app"]
