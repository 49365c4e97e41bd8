"""`persona-panel view`: the runs below a folder, shown in a browser by a server on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from persona_panel.cli.failures import refusals_without_calls
from persona_panel.cli.help import PanelCommand
from persona_panel.cli.options import option
from persona_panel.files.errors import ConfigurationError, Fault, InputError
from persona_panel.files.secrets.visible import say, visible


@click.command(cls=PanelCommand, example="runs --open")
@click.argument("folder", metavar="[FOLDER]", default="runs")
@option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port to listen on.  [default: a free one]",
)
@option("--open", "opened", is_flag=True, help="Also open the page in the browser.")
@refusals_without_calls
def view(folder: str, port: int, opened: bool) -> None:
    """Show the runs below FOLDER (`runs` if not given) in a browser, as they go on.

    A line for each run: what it came to, how complete it is, what it cost. Of a run that goes on:
    how far it is, its rate, its cost against the cap, what is missing and why, and systems' means
    with their intervals so far. Two runs can be compared. A run that was killed is shown with the
    command that goes on with it.

    The server reads files and writes none, calls no model, and answers on 127.0.0.1 alone, at an
    address that it prints last. The address has a key, as other users of the machine could open it
    otherwise. For a machine elsewhere, `ssh -L PORT:127.0.0.1:PORT MACHINE` brings the port here.

    Ctrl-C ends it, and no run.

    Exit status: 0; 2 where there is no such folder, or the port is taken.
    """
    from persona_panel.files.wording import unreadable

    root = Path(folder)
    if not root.is_dir():
        actual = "a file" if root.is_file() else unreadable(root)
        expected = "a folder of runs: `score --out FOLDER/NAME` writes one into it"
        raise InputError([Fault(folder, actual, expected)])
    from persona_panel.view.server import HOST, ViewServer

    try:
        server = ViewServer(root, port)
    except OSError as error:
        raise ConfigurationError(
            f"--port {port}: {HOST} cannot be listened on there ({error.strerror}); choose "
            "another one, or leave it out for a free one"
        ) from None
    say(f"Runs below {visible(str(root))}, until Ctrl-C ends this:", err=True)
    say(server.address)
    if opened:
        import webbrowser

        webbrowser.open(server.address_to_open_once())
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.end()
