"""Driving a model through a task: method, context, loop, event log, run folder, screen."""
