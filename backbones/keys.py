"""Where a backbone's key comes from. Apart from the client, so that checking a spec imports no network."""

from __future__ import annotations

from collections.abc import Mapping

from ocm.errors import Problem, SpecError
from ocm.spec import OpenAIBackbone


def key_problem(spec: OpenAIBackbone, environ: Mapping[str, str]) -> Problem | None:
    """What is wrong with the key, None if it is there or not needed."""
    if not spec.api_key_env:
        return None
    where = "api_key_env"
    key = environ.get(spec.api_key_env, "").strip()
    if not key:
        found = f"the environment variable {spec.api_key_env} is not set"
        mend = f'put the key there, or set api_key_env = "" if {spec.base_url} needs no key'
        return Problem(where, found, mend)
    if not (key.isascii() and key.isprintable() and " " not in key):
        found = f"the environment variable {spec.api_key_env} holds blanks or signs that no key has"
        return Problem(where, found, "put the key there, and nothing else")
    return None


def read_key(spec: OpenAIBackbone, environ: Mapping[str, str]) -> str | None:
    """The key, or None for servers without keys.

    Raises:
        SpecError: the variable is not set.
    """
    problem = key_problem(spec, environ)
    if problem is not None:
        raise SpecError(str(problem), [problem])
    return environ[spec.api_key_env].strip() if spec.api_key_env else None
