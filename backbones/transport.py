"""Requests to one server through ``openai.AsyncOpenAI``: its authentication, JSON, connections, exceptions.

Of the package's public ways to send, the cheapest is taken: ``client.post`` over its aiohttp client, with
the reply as it came. Measured against a loopback server with 200 ms latency on two busy cores: CPU per call
(at 32 calls at once) and the share of the ideal makespan; medians of four alternating runs. ``python -m
benchmarks.backbone`` measures the first, second and fourth row again:

===========================================  =======  ====  ====  =====
client                                       CPU      8     32    128
===========================================  =======  ====  ====  =====
``chat.completions.create``, httpx           4.5 ms   96 %  91 %  37 %
``chat.completions.create``, aiohttp         3.8 ms   97 %  94 %  70 %
``with_raw_response.create``, aiohttp        3.5 ms   96 %  93 %  69 %
``post``, aiohttp: this module               2.2 ms   98 %  95 %  90 %
aiohttp alone, for comparison                0.9 ms   98 %  97 %  97 %
===========================================  =======  ====  ====  =====

128 calls at once are 640 per second here, near what one event loop can do with any of the first four;
real models take ten times as long to answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
import urllib.request
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import httpx2
import openai

from backbones.failures import Failure, Kind, failed_status, one_line
from backbones.rate_headers import Hints, rate_hints
from ocm.redaction import Redaction, password_in

USER_AGENT = "ocm-at-scale"
CONNECT_SECONDS = 20.0
NO_KEY = "none"
"""The package wants some key even where none is sent."""
LOGGERS = ("openai._base_client", "openai._response", "openai._legacy_response", "httpx2", "aiohttp.client")
"""Who may log what a server has said in headers and reason phrases."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A good answer: its body, and what its headers say of limits."""

    body: bytes
    hints: Hints


class Transport:
    """Requests to the paths under one base URL.

    ``connections``: requests at once; others wait their turn in order. ``timeout``: seconds for one
    request, once it has its turn. Connections are opened on first use, through the proxy that
    the usual environment variables name. No redirect is followed. The key does not leave this object
    except to the server: servers like to quote it, and it is taken out of all that comes back.
    """

    def __init__(self, base_url: str, key: str | None, connections: int, timeout: float) -> None:
        self._base_url = base_url
        self._key = key
        self._connections = connections
        self._timeout = timeout
        self._client: openai.AsyncOpenAI | None = None
        self._redaction = Redaction([] if key is None else [key])
        # Passwords of proxies may be common words: replies keep them.
        self._failed = Redaction([*_proxy_passwords(), key or ""])
        self._unlogged = _Redacted(self._failed)
        self._turns = asyncio.Semaphore(connections)
        self._headers: dict[str, str | openai.Omit] = {} if key else {"Authorization": openai.omit}

    def turn(self) -> asyncio.Semaphore:
        """A connection to post over, in order of asking; others are kept waiting for as long."""
        return self._turns

    async def post(self, path: str, body: Mapping[str, Any], key: str) -> Answer | Failure:
        """Send JSON in a :meth:`turn`; a good answer, or what went wrong.

        ``key``: the same for requests of which the server is to answer, and charge, only one.
        """
        # The package would send its option ``idempotency_key`` under a name that it does not have.
        headers = {**self._headers, "Idempotency-Key": key}
        return await self._send(
            self._timeout,
            lambda client: client.post(
                path, cast_to=httpx2.Response, body=body, options={"headers": headers}
            ),
        )

    async def get(self, path: str, timeout: float) -> Answer | Failure:
        """Fetch, with a time-out of its own in seconds."""
        return await self._send(
            timeout,
            lambda client: client.get(path, cast_to=httpx2.Response, options={"headers": self._headers}),
        )

    async def close(self) -> None:
        """Close all connections; the next request would open new ones."""
        client, self._client = self._client, None
        for name in LOGGERS:
            logging.getLogger(name).removeFilter(self._unlogged)
        if client is not None:
            await client.close()

    async def _send(
        self, timeout: float, send: Callable[[openai.AsyncOpenAI], Awaitable[httpx2.Response]]
    ) -> Answer | Failure:
        # A failure is returned, not raised: the package's exceptions hold the request's headers, and with
        # them the key, which must not ride along as the context of our errors.
        try:
            client = self._open()
            async with asyncio.timeout(timeout):
                good = await send(client)
            return Answer(self._redaction.body(good.content), rate_hints(good.headers, time.time()))
        except openai.APIStatusError as error:
            answer = error.response
            body = self._failed.body(answer.content)
            return failed_status(answer.status_code, answer.headers, body, time.time())
        except (
            openai.APIConnectionError,
            aiohttp.ClientError,
            httpx2.InvalidURL,
            UnicodeError,
            OSError,
        ) as error:
            return _failure(_origin(error), timeout, self._failed)

    def _open(self) -> openai.AsyncOpenAI:
        if self._client is None:
            for name in LOGGERS:
                logging.getLogger(name).addFilter(self._unlogged)
            self._client = _Client(
                base_url=self._base_url,
                api_key=self._key or NO_KEY,
                max_retries=0,
                # The whole request is timed above: a read time-out starts anew with each piece of a reply.
                timeout=openai.Timeout(None, connect=CONNECT_SECONDS),
                http_client=openai.DefaultAioHttpClient(
                    limits=httpx2.Limits(max_connections=self._connections), follow_redirects=False
                ),
            )
        return self._client


class _Redacted(logging.Filter):
    """Takes the key out of what is logged, such as a reason phrase that quotes it."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._redaction.text(record.getMessage()), None
        return True


class _Client(openai.AsyncOpenAI):
    """Sends no more headers than these and the key.

    The package would add what ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID`` and ``OPENAI_CUSTOM_HEADERS`` say,
    which may be meant for another server, and may even replace the key.
    """

    @property
    def default_headers(self) -> dict[str, str | openai.Omit]:
        return {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": USER_AGENT}


def _origin(error: BaseException) -> BaseException:
    """The network's own error: the package has one class for most of them, and calls some a time-out."""
    while isinstance(error, openai.APIConnectionError | httpx2.RequestError) and error.__cause__:
        error = error.__cause__
    return error


def _proxy_passwords() -> list[str]:
    return [password for url in urllib.request.getproxies().values() if (password := password_in(url))]


def _failure(error: BaseException, timeout: float, redaction: Redaction) -> Failure:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return Failure(Kind.UNREACHABLE, "its host name is not found")
        case aiohttp.ClientSSLError() | ssl.SSLError() | FileNotFoundError():
            return Failure(Kind.TLS, redaction.text(_reason(error)))
        case aiohttp.InvalidURL() | httpx2.InvalidURL() | UnicodeError():
            return Failure(Kind.ADDRESS, "not an address")
        case aiohttp.ConnectionTimeoutError():
            return Failure(Kind.UNREACHABLE, "connecting takes too long")
        case aiohttp.ClientConnectorError():
            return Failure(Kind.UNREACHABLE, redaction.text(_reason(error)))
        case TimeoutError():
            return Failure(Kind.TIMEOUT, f"no answer within {timeout:g} s")
        case _:
            return Failure(Kind.BROKEN, redaction.text(_reason(error)))


def _reason(error: BaseException) -> str:
    """The operating system's words where there are some: the libraries' own may be long or empty."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return one_line(str(error.certificate_error))
        case aiohttp.ClientConnectorError():
            return _reason(error.os_error)
        case OSError(errno=int(number)) if number > 0 and not isinstance(error, ssl.SSLError):
            return os.strerror(number).lower()
        case _:
            return one_line(str(error)) or type(error).__name__
