"""The next step that a command ends with: one, where there is one."""

from __future__ import annotations

from persona_panel.files.secrets.visible import say, say_sentences, visible


def say_next_step(what: str, command: str) -> None:
    """Print the next step on standard error, behind all else.

    Args:
        what: what the command does, such as "Score the responses".
        command: as `persona_panel.files.wording.command_line` makes it; it stands on a line of its
            own, whole, so that it can be pasted.
    """
    say_sentences(f"Next: {what[0].lower()}{what[1:]}:", err=True)
    say(f"  {visible(command)}", err=True)
