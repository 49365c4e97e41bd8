"""stub"""
import click
from persona_panel.cli.help import PanelCommand
@click.command(cls=PanelCommand, example="answers.csv")
@click.argument("responses")
def init(responses: str) -> None:
    """Write a panel file."""
