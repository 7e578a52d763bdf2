"""A service of saved models: predictions, explanations and corrections by HTTP, and a page to work with them.

`make_app` returns the application, for a server of your own; ``nearlabel serve`` starts one. A correction is in a
journal on disk before it is acknowledged, and in every later answer.
"""

from nearlabel.serve._app import make_app
from nearlabel.serve._guard import Limits
from nearlabel.serve._live import LiveModel

__all__ = ["Limits", "LiveModel", "make_app"]
