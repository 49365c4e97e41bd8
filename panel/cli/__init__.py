"""The command line: what `persona-panel` takes, shows and returns. Nothing is computed here."""

from __future__ import annotations

import os
import signal


def start() -> None:
    """Run the command as a process of its own; Ctrl-C ends its imports in order, too."""
    # A process that was started to ignore it (`nohup`, a script's background job) goes on to.
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heeded:
        signal.signal(signal.SIGINT, _end)
    try:
        from persona_panel.cli.main import main

        main()
    finally:
        if is_heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(*_: object) -> None:
    os.write(2, b"Interrupted: no model was called.\n")
    os._exit(130)
