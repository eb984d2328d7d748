"""What a failed request means, and the one policy by which it is made again."""

from __future__ import annotations

import email.utils
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from agents.protocol import Attempts, ModelError
from tasks.errors import UserError

if TYPE_CHECKING:
    import tenacity

TRIES = 6
LONGEST_WAIT_S = 60.0
LONGEST_LINE = 300
# no prompt would be answered: the key, the account or the model's name is wrong
REFUSED = (401, 402, 403, 404)
REFUSED_WORDS = re.compile(
    r"insufficient_quota|credit balance is too low|billing_hard_limit"
    r"|model_not_found|(not a valid|invalid|unknown) model"
    r"|api key not valid|invalid api key|missing (credentials|\w+ api key)|provider not provided",
    re.IGNORECASE,
)
PASSING = (408, 409, 425, 429)
# a server in between gave up waiting, or lost the one behind it, which may have done the work
UNSURE = (408, 502, 504, 524)
# a request that never left, by the name of httpx's error
NOT_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")

T = TypeVar("T")
log = logging.getLogger(__name__)


class Refused(ModelError, UserError):
    """The provider would refuse every request alike: a wrong key, model or address, or an empty account."""


class Passing(ModelError):
    """A failure that another try may not meet. `wait_s` is what the server asks to wait; with `at_once` the request
    itself was changed, so there is nothing to wait for and nothing more to say."""

    def __init__(self, line: str, wait_s: float = 0.0, *, at_once: bool = False, billed: bool = False) -> None:
        super().__init__(line, billed=billed)
        self.wait_s = wait_s
        self.at_once = at_once


class Stopped(ModelError):
    """The wait for another try was ended by the client's `stop`."""


class NoCompletion(ValueError):
    """Status 200 without an answer in it: not an empty program of the model's."""


def no_completion(answer: Any) -> NoCompletion:
    """For such an answer, with the error that stands in it, if any: the rest of it says nothing."""
    error = getattr(answer, "error", None) or (answer.get("error") if isinstance(answer, Mapping) else None)
    return NoCompletion(f"the server sent no completion{f': {error}' if error else ''}")


def failure(error: Exception, line: str) -> ModelError:
    """What an SDK's exception means, as `Passing`, `Refused` or a plain ModelError with that text."""
    status = status_of(error)
    if status in REFUSED or REFUSED_WORDS.search(details_of(error)):
        return Refused(line)
    if isinstance(error, NoCompletion | json.JSONDecodeError | UnicodeDecodeError):
        return Passing(line, billed=True)
    # the SDKs' errors without a status are broken connections, timeouts, and answers that they can't read
    if (status is None and not isinstance(error, ValueError)) or status in PASSING or (status or 0) >= 500:
        return Passing(line, asked_to_wait_s(headers_of(error), time.time()), billed=may_be_billed(error))
    return ModelError(line, billed=status is None)


def may_be_billed(error: Exception) -> bool:
    """Whether the provider may have done the work of a failed attempt, and charge for it. It has not where no
    connection came about, and where it said with a status that it failed."""
    causes = _causes(error)
    if any(type(cause).__name__ in NOT_SENT for cause in causes):
        return False
    said = [status for cause in causes if (status := _status_said(cause)) is not None]
    return not said or said[0] in UNSURE


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what it came from, which the SDKs keep."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found


def _status_said(error: BaseException) -> int | None:
    """The status of a failure that came over the line. What litellm raises may have one of litellm's own."""
    if type(error).__module__.partition(".")[0] == "litellm":
        return None
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def status_of(error: Exception) -> int | None:
    """The HTTP status, None where no answer came. An SDK may have put another in the place of 200."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def details_of(error: Exception) -> str:
    """All that the error says: its text and the body that came with it."""
    return f"{error} {getattr(error, 'body', None) or ''}"


def line_of(error: Exception) -> str:
    """The status, or the kind of error, and the provider's own words. May be long, and may hold a key."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    words = inner.get("message") if isinstance(inner, Mapping) else None
    said = words if isinstance(words, str) and words.strip() else re.sub(r"^litellm\.\w+: ", "", str(error))
    if isinstance(error, NoCompletion):
        return said
    causes = _causes(error)
    if isinstance(causes[-1], json.JSONDecodeError) and all(_status_said(cause) is None for cause in causes):
        return f"the server's answer is no JSON ({causes[-1]})"
    said += _connection(error)
    return " ".join(f"{status_of(error) or type(error).__name__ + ':'} {said}".split())


def _connection(error: Exception) -> str:
    """Where a connection failed and why, as httpx says it; empty where none did. Of the URL only host and port."""
    causes = _causes(error)
    if any(_status_said(cause) is not None for cause in causes):
        return ""
    for cause in causes:
        # openai's is called httpx2; without a request it would raise when asked for one
        if type(cause).__module__.startswith("httpx") and getattr(cause, "_request", None) is not None:
            host = getattr(cause, "request").url.netloc.decode("ascii", "replace")  # noqa: B009
            return f" ({host}: {str(cause) or type(cause).__name__})"
    return ""


def headers_of(error: Exception) -> Mapping[str, str]:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return {name.lower(): value for name, value in headers.items()} if headers else {}


def asked_to_wait_s(headers: Mapping[str, str], now: float) -> float:
    """What retry-after-ms or Retry-After (seconds or a date) asks for, from 0 to the longest wait; 0 for nonsense.

    `headers` have names in lower case; `now` is in seconds since 1970.
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            asked = float(headers[name]) * unit_s
        except KeyError:
            continue
        except ValueError:
            date = email.utils.parsedate_tz(headers[name])
            asked = email.utils.mktime_tz(date) - now if date else 0.0
        return min(asked, LONGEST_WAIT_S) if asked > 0 else 0.0
    return 0.0


class Retrying:
    """The policy of one client: `TRIES` attempts, waits that double and are random, at least as long as the server
    asks. Each failure is a warning. Used from several threads."""

    def __init__(self, name: str, first_wait_s: float, stop: threading.Event) -> None:
        self._name = name
        self._first_wait_s = first_wait_s
        self._stop = stop

    def call(self, once: Callable[[], T], attempts: Attempts | None = None) -> tuple[T, int]:
        """What `once` gives, and how many attempts it took. Only `Passing` is tried again.

        Raises Stopped when `stop` is set during a wait, what `attempts` raises, else what the last attempt raised.
        """
        import tenacity

        def attempt() -> T:
            if attempts and retrying.statistics["attempt_number"] > 1:
                attempts.again()
            try:
                return once()
            except ModelError as error:
                if attempts:
                    attempts.failed(billed=error.billed)
                raise

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(TRIES),
            wait=self._wait_s,
            retry=tenacity.retry_if_exception_type(Passing),
            before_sleep=self._warn,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            result = retrying(attempt)
        except Passing as error:
            raise ModelError(f"{error} ({TRIES} tries)") from None
        return result, retrying.statistics["attempt_number"]

    def _wait_s(self, state: tenacity.RetryCallState) -> float:
        import tenacity

        failed = _passing(state)
        if failed.at_once:
            return 0.0
        # the random part also on top of what is asked for, or all who were told the same come back together
        return failed.wait_s + tenacity.wait_random_exponential(self._first_wait_s, max=LONGEST_WAIT_S)(state)

    def _warn(self, state: tenacity.RetryCallState) -> None:
        failed = _passing(state)
        if not failed.at_once:
            wait_s = state.next_action.sleep if state.next_action else 0.0
            log.warning("%s; try %d of %d in %.0f s", failed, state.attempt_number + 1, TRIES, wait_s)

    def _sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Stopped(f"{self._name}: stopped while waiting for another try")


def _passing(state: tenacity.RetryCallState) -> Passing:
    error: Any = state.outcome.exception() if state.outcome else None
    assert isinstance(error, Passing)
    return error
