"""`foreseal completion`: scripts that complete commands and options in a shell."""

import click
from click.shell_completion import get_completion_class

SHELLS = "bash", "zsh", "fish"
_PROGRAM = "foreseal"
_VARIABLE = "_FORESEAL_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash  foreseal completion bash > ~/.local/share/bash-completion/completions/foreseal
    zsh   foreseal completion zsh > a file _foreseal in a folder of $fpath
    fish  foreseal completion fish > ~/.config/fish/completions/foreseal.fish
    """
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"completion for {shell} is not supported")
    command = click.get_current_context().find_root().command
    click.echo(made(command, {}, _PROGRAM, _VARIABLE).source())
