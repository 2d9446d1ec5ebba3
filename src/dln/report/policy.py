"""Text -> text that is safe inside the page: embedded JSON, and the content security policy.

The policy allows only the scripts and styles that this package ships, by their hashes. The page
cannot send a request, submit a form or change its base address, whatever a table or a model holds.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable


def content_policy(scripts: Iterable[str], styles: Iterable[str]) -> str:
    """Write the policy for a page with exactly these inline scripts and styles.

    >>> content_policy(["alert(1)"], [])
    "default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='; \
style-src 'none'; form-action 'none'; base-uri 'none'"
    """
    return (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
        "form-action 'none'; base-uri 'none'"
    )


def _hashes(texts: Iterable[str]) -> str:
    digests = dict.fromkeys(hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests) or "'none'"


def embed_json(text: str) -> str:
    """Keep JSON from ending its script element: these characters occur only inside strings."""
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
