"""The worker: a warm program that forks one child per candidate. Trusted by nobody.

Imports only `evaluator.wire` from outside this folder, so that the tasks can be hidden from it.
"""
