"""The subcommands of `python -m experiments`: one module each, with HELP, EXAMPLES, `flags` and `run`."""
