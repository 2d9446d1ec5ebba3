"""Who runs the command, and when: for records of edits."""

from __future__ import annotations

import datetime
import getpass


def login_name() -> str:
    """Return the name of the login; "" if there is none, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


def time_now() -> str:
    """Return the date and time with its time zone, in ISO 8601."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")
