"""HTTP to one server: one shared connection pool, a limit of requests at once, a time-out for each.

Measured against a loopback server with 200 ms latency on two cores, CPU per call and the share of the
ideal makespan at 32 and at 128 calls at once (``python -m benchmarks.backbone`` measures it again):

=============================================  =======  ====  ====
client                                         CPU      32    128
=============================================  =======  ====  ====
``openai`` as it comes (httpx)                 3.4 ms   67 %  43 %
``openai`` with its aiohttp client             2.6 ms   81 %  50 %
the same, without its request and reply types  1.3 ms   87 %  78 %
aiohttp alone                                  0.4 ms   94 %  91 %
=============================================  =======  ====  ====

The cost lies in the client's layers, not in one place, so calls go through aiohttp alone. That the
same JSON goes over the wire as with the ``openai`` package is tested against that package.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from backbones.failures import Failure, Kind, one_line

USER_AGENT = "ocm-at-scale"
CONNECT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. Header names are looked up without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport:
    """Requests to the paths under one base URL.

    ``connections``: requests at once; others wait their turn in order. ``timeout``: seconds for one
    request, from the moment it has its turn. Connections are opened on first use. The key does not
    leave this object except to the server.
    """

    def __init__(self, base_url: str, key: str | None, connections: int, timeout: float) -> None:
        self._base_url = base_url
        self._key = key
        self._connections = connections
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._turns = asyncio.Semaphore(connections)

    async def post(self, path: str, body: bytes) -> Answer | Failure:
        """Send JSON."""
        return await self._send("POST", path, self._timeout, data=body)

    async def get(self, path: str, timeout: float) -> Answer | Failure:
        """Fetch, with a time-out of its own in seconds."""
        return await self._send("GET", path, timeout)

    async def close(self) -> None:
        """Close all connections; the next request would open new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send(self, method: str, path: str, timeout: float, **more: Any) -> Answer | Failure:
        # A failure is returned, not raised: aiohttp's exceptions hold the request's headers, and with
        # them the key, which must not ride along as the context of our errors.
        patience = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, CONNECT_SECONDS))
        try:
            async with (
                self._turns,
                self._open().request(
                    method, self._base_url + path, timeout=patience, allow_redirects=False, **more
                ) as response,
            ):
                return Answer(response.status, response.headers, self._without_key(await response.read()))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return _failure(error, timeout)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, ttl_dns_cache=300),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers(),
                proxy=environment_proxy(self._base_url),
            )
        return self._session

    def _without_key(self, body: bytes) -> bytes:
        """Servers like to quote a refused key. It ends here, so that no error and no record has it."""
        return body if self._key is None else body.replace(self._key.encode(), b"[key]")

    def _headers(self) -> dict[str, str]:
        key = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        return {"Content-Type": "application/json", "User-Agent": USER_AGENT, **key}


def environment_proxy(url: str) -> str | None:
    """The proxy that the usual environment variables name for this address.

    aiohttp's own ``trust_env`` also reads ``~/.netrc`` for each request, and refuses the key then.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    return None if proxy_bypass(host) else getproxies().get(parts.scheme)


def _failure(error: Exception, timeout: float) -> Failure:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return Failure(Kind.UNREACHABLE, "its host name is not found")
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return Failure(Kind.TLS, _reason(error))
        case aiohttp.InvalidURL():
            return Failure(Kind.ADDRESS, "not an address")
        case aiohttp.ConnectionTimeoutError():
            return Failure(Kind.UNREACHABLE, "connecting takes too long")
        case aiohttp.ClientConnectorError():
            return Failure(Kind.UNREACHABLE, _reason(error))
        case TimeoutError():
            return Failure(Kind.TIMEOUT, f"no answer within {timeout:g} s")
        case _:
            return Failure(Kind.BROKEN, _reason(error))


def _reason(error: Exception) -> str:
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
