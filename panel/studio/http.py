"""The condition of LangGraph's development server on a request: that it names this machine, so that
a page whose name was made to lead here (DNS rebinding) gets no answer. Which pages may read answers
is said in langgraph.json.

PERSONA_PANEL_HOSTS has further names of the machine, with commas between, for a server that is
asked over a network.
"""

from __future__ import annotations

import os

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

OWN_HOSTS = ("127.0.0.1", "localhost", "[::1]")

_further = [name for name in os.environ.get("PERSONA_PANEL_HOSTS", "").split(",") if name]
_hosts = [*OWN_HOSTS, *_further]
app = Starlette(middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_hosts)])
