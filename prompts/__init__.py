"""The prompts: jinja2 templates and their loader. Imports no other package of the project."""
