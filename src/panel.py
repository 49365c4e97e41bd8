"""The former name of `persona_panel`, which stands for the same modules."""

from persona_panel._names import let_panel_go_on

let_panel_go_on()
