"""The replay of a recorded run, told in lines."""

from __future__ import annotations

from agents.runfolder import Run
from tasks.errors import UserError

MOST_SHOWN = 5


def replay(run: Run) -> int:
    """Prints whether the method reproduces its log, task by task. Returns 0 if it does for every event, else 1."""
    from agents.replay import replay_run

    replayed = replay_run(run)
    if not replayed:
        raise UserError(f"{run.path} has no begun task to replay")
    for one in replayed:
        extent = "" if one.complete else ", as far as the unfinished log goes"
        verdict = f"DIVERGES in {len(one.divergences)} places" if one.divergences else "reproduced"
        print(f"{one.task}: {verdict}, {one.events} events the same{extent}")
        for divergence in one.divergences[:MOST_SHOWN]:
            print(f"    {divergence}")
    same = not any(one.divergences for one in replayed)
    events = sum(one.events for one in replayed)
    print(
        f"{len(replayed)} tasks, {events} events: "
        + ("the log is reproduced event for event, with no live call" if same else "the replay differs from the log")
    )
    return 0 if same else 1
