"""The built-in methods, one a file: how a model's attempts at a task are asked for, judged and followed up."""
