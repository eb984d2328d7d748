"""The tasks, their oracles and the fault injector. Imports no other package of the project."""
