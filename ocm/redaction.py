"""Secrets: which variables hold them, what looks like one, and texts without them. Pure functions.

A secret is a key, a token or a password. What is shorter than :data:`SHORTEST` is none: servers without keys
are given words such as ``EMPTY``, and taking those out would change what models say.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

MARK = "[key]"
"""Stands in place of a secret."""
SHORTEST = 8
SHOWN_IN_PART = 12
"""So many first characters of a secret are taken out too, with what follows: servers quote keys in part."""
LONGEST_PART = 200

VARIABLE = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
"""How an address names an environment variable, such as one with a password."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH_STRING|CONNECTION_URL"
    r"|CUSTOM_HEADERS|WEBHOOK|DSN|PAT|PGPASSWORD|MYSQL_PWD)S?(?:_|$)|PASSWORD$|APIKEY$",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"^RAY_|_(?:FILE|PATH|DIR|HOME|LABEL|NAME|COUNT|LIMIT|TTL|TIMEOUT|ENABLED)$", re.IGNORECASE
)
_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|gsk|xai|r8|hf|nvapi|pplx|csk|tgp|ghp|gho|ghs|github_pat|glpat|xox[abp]|pnu|pnb|dapi)[-_]"
    r"[A-Za-z0-9_-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_.-]+"
    r"|(?:Bearer|Basic) [A-Za-z0-9+/=._~-]{16,})"
)
_RANDOM = re.compile(r"(?=.*\d.*\d.*\d)(?=.*[a-z])[A-Za-z0-9+/=_-]{20,}")


def looks_like_key(text: str) -> bool:
    """Whether a text has something in it that is worded as the keys and tokens of known services are."""
    return bool(_KEY.search(text))


def is_no_variable(name: str) -> bool:
    """Whether what should be a variable's name is rather the key itself."""
    return looks_like_key(name) or bool(_RANDOM.fullmatch(name))


def holds_secret(name: str, value: str) -> bool:
    """Whether an environment variable holds a secret, by its name or as a password in an address."""
    named = bool(_SECRET_NAME.search(name)) and not _NOT_SECRET.search(name)
    return bool(value) and (named or password_in(value) is not None or looks_like_key(value))


def without_secrets(environ: Mapping[str, str], also: Iterable[str] = ()) -> dict[str, str]:
    """An environment for processes that need no secret. ``also``: further names to leave out."""
    others = frozenset(also)
    return {
        name: value for name, value in environ.items() if name not in others and not holds_secret(name, value)
    }


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """The values of an environment's secrets, and the passwords in its addresses."""
    found = {value.strip() for name, value in environ.items() if holds_secret(name, value)}
    passwords = {password_in(value) for value in environ.values()}
    return frozenset(found | {one for one in passwords if one})


def password_in(text: str) -> str | None:
    """The password of an address such as ``https://ann:password@host``, or None."""
    if "://" not in text or "@" not in text:
        return None
    try:
        password = urlsplit(text.strip()).password
    except ValueError:
        return None
    return unquote(password) if password else None


def without_password(uri: str) -> str:
    """An address as it may stand in files and messages."""
    if password_in(uri) is None:
        return uri
    parts = urlsplit(uri)
    return parts._replace(netloc=f"{parts.username}@{parts.netloc.rpartition('@')[2]}").geturl()


def filled_in(uri: str, environ: Mapping[str, str]) -> str:
    """An address with the values of the variables that it names, quoted as addresses need it.

    Raises:
        KeyError: the name of a variable that is not set.
    """
    return re.sub(VARIABLE, lambda found: quote(environ[found[1]], safe=""), uri)


class Redaction:
    """Takes secrets out of texts, however they are spelled: plain, cut short, URL-encoded, escaped, base64.

    The same text gives the same again, so that equal replies stay equal.
    """

    __slots__ = ("_bytes", "_starts", "_text")

    def __init__(self, secrets: Iterable[str]) -> None:
        long = sorted({secret for secret in secrets if len(secret) >= SHORTEST})
        spelled = sorted({one for secret in long for one in spellings(secret)}, key=len, reverse=True)
        pattern = "|".join(
            [*map(re.escape, spelled), *(part for secret in long for part in _cut_short(secret))]
        )
        self._text = re.compile(pattern)
        self._bytes = re.compile(pattern.encode())
        # Most texts have no secret, and looking for some fixed beginnings is faster than the pattern.
        self._starts = frozenset(one[:SHORTEST].encode() for one in spelled)

    def text(self, text: str) -> str:
        """A text without the secrets."""
        return self._text.sub(MARK, text) if self._starts else text

    def body(self, body: bytes) -> bytes:
        """A server's answer without the secrets; as JSON, also those that hide behind its escapes."""
        if not self._starts:
            return body
        if any(start in body for start in self._starts):
            body = self._bytes.sub(MARK.encode(), body)
        return self._unescaped(body) if b"\\u" in body or b"\\/" in body else body

    def _unescaped(self, body: bytes) -> bytes:
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            return body
        clean = self._value(value)
        return body if clean == value else json.dumps(clean).encode()

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {self.text(name): self._value(one) for name, one in value.items()}
        return value


def spellings(secret: str) -> frozenset[str]:
    """How a secret may stand in a text."""
    plain = {secret, quote(secret, safe=""), quote_plus(secret), quote(secret), html.escape(secret)}
    escaped = {json.dumps(secret)[1:-1], repr(secret)[1:-1], secret.replace("/", r"\/")}
    return frozenset(plain | escaped | _base64(secret))


def _base64(text: str) -> set[str]:
    """What base64 makes of a text, wherever in the encoded bytes it begins."""
    found = set()
    for before in range(3):
        raw = bytes(before) + text.encode()
        skipped = (0, 2, 3)[before]
        whole = base64.b64encode(raw).decode().rstrip("=")
        known = whole[skipped : len(raw) * 8 // 6]
        found |= {known, known.replace("+", "-").replace("/", "_")}
    return found


def _cut_short(secret: str) -> list[str]:
    """A pattern for the first characters and as much as follows of the rest."""
    if len(secret) < SHOWN_IN_PART + 4:
        return []
    rest = ""
    for sign in reversed(secret[SHOWN_IN_PART:LONGEST_PART]):
        rest = f"(?:{re.escape(sign)}{rest})?"
    return [re.escape(secret[:SHOWN_IN_PART]) + rest]
