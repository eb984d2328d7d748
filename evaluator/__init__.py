"""Judging candidates: in process for the caller, never in process for the candidate."""
