"""Seeds of the cases: fixed for public ones, and out of a candidate's reach for hidden ones."""

import hashlib
import hmac

PUBLIC_SEED = 0


def source_sha(source: str) -> str:
    """SHA-256 of a source's text, in hexadecimal."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def hidden_seed(secret: bytes, task: str, sha: str) -> int:
    """HMAC-SHA256 of task and source under the run's secret: a source meets the same cases in a resumed run, and no
    source can be written to know its own."""
    digest = hmac.new(secret, f"{task}\n{sha}".encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:7], "big")
