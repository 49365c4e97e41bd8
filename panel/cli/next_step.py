"""The next step that a command ends with: one, where there is one."""

from __future__ import annotations

from typing import NamedTuple

from persona_panel.files.secrets.visible import say, say_sentences, visible


class NextStep(NamedTuple):
    """The command that follows from what a command did.

    Attributes:
        what: what it does, such as "score the responses".
        command: as `persona_panel.files.wording.command_line` makes it.
    """

    what: str
    command: str

    def say(self) -> None:
        """Print it on standard error, the command whole on a line of its own, to be pasted."""
        say_sentences(f"Next: {self.what}:", err=True)
        say(f"  {visible(self.command)}", err=True)
