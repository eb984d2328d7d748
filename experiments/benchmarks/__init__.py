"""Measurements that a person starts by hand; no test depends on a time."""
