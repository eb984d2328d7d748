"""How near a run comes to its `--model-concurrency`: a local server that answers after a second, and a real client.

    python -m experiments.benchmarks.in_flight               64 requests in flight, twenty times over
    python -m experiments.benchmarks.in_flight --at-once 16  fewer

The server is a process of its own. Client, limits, loop, threads and log are those of a run; each reply is waited for
until it is on the disk. Ideal is as many replies a second as there are requests in flight. One request goes before the
clock starts: the SDK imports much of itself at its first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from agents.protocol import Context
    from tasks.task import Task

TASK = "Math/softmax"
MODEL = "openai/slow"
ANSWER_S = 1.0
PROMPT = "A prompt of the usual length. " * 150
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "slow",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "A line.\n" * 400}}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 1000, "total_tokens": 2000},
}


class SlowServer(ThreadingHTTPServer):
    """Takes many connections at once."""

    request_queue_size = 1024
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    """Answers each request after ANSWER_S, and keeps the connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(ANSWER_S)
        body = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class Asker:
    """Asks so many questions at once, and judges nothing."""

    name: ClassVar[str] = "asker"
    questions: int

    def run(self, task: Task, ctx: Context) -> None:
        from agents.protocol import Ask

        ctx.ask_many([Ask(f"{PROMPT}{number}", number) for number in range(self.questions)])


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    arguments = _parser().parse_args(argv)
    if arguments.serve:
        return serve()
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder, slow_server() as url:
        questions = arguments.at_once * arguments.times
        seconds, cpu_s = measure(Path(folder), url, arguments.at_once, questions)
    rate = questions / seconds
    share = rate * ANSWER_S / arguments.at_once
    print(f"{questions} replies, {arguments.at_once} requests in flight: {seconds:.2f} s, {rate:.1f} replies a second")
    print(f"{share:.1%} of the ideal rate; {1000 * cpu_s / questions:.1f} ms of CPU a reply")
    return 0


def measure(folder: Path, url: str, at_once: int, questions: int) -> tuple[float, float]:
    """Wall and CPU seconds of a run of one task with so many questions."""
    from agents.config import RunConfig
    from agents.loop import Parts, run_tasks
    from agents.models import load_model
    from agents.newrun import create_run
    from agents.protocol import Message, Request
    from agents.replay import NoAnswers
    from prompts.loader import Templates
    from tasks.catalog import load

    task, model = load(TASK), load_model(MODEL, seed=0, base_url=url)
    config = RunConfig("asker", MODEL, 1, (TASK,), base_url=url, model_concurrency=at_once)
    run = create_run(folder / "run", config, (TASK,), secret=b"0", method="asker", rounds=1, simulated=False)
    model.complete(Request((Message("user", PROMPT),), {}, TASK, 0, 0))
    parts = Parts(Asker(questions), model, NoAnswers(MODEL), Templates())
    start, cpu_start = time.perf_counter(), time.process_time()
    end = run_tasks(run, [task], parts, lambda name, event: None, lambda: None)
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start
    if end.state != "done":
        raise SystemExit(f"the run did not end well: {end.tasks[0].reason}")
    return seconds, cpu_s


@contextmanager
def slow_server() -> Iterator[str]:
    """The root of a server in a process of its own."""
    words = [sys.executable, "-m", "experiments.benchmarks.in_flight", "--serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout
            yield child.stdout.readline().strip()
        finally:
            child.terminate()


def serve() -> int:
    """The server, until it is terminated. Prints where it is."""
    with SlowServer(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
        server.serve_forever()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m experiments.benchmarks.in_flight", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--at-once", type=int, default=64, help="requests in flight (64)")
    parser.add_argument("--times", type=int, default=20, help="so many times as many questions (20)")
    parser.add_argument("--folder", help="a folder on the disk to write to (default: where temporary files go)")
    parser.add_argument("--serve", action="store_true", help="be the server")
    return parser


if __name__ == "__main__":
    sys.exit(main())
