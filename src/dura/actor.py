"""Who acts when nobody says: for the audit entries of the command and the monitor."""

from __future__ import annotations

import getpass
import os
import socket


def present_actor() -> str:
    """Who sits at this terminal: `user@host`, and the client's address when they came over SSH."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid{os.getuid()}"
    client = (os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_CLIENT") or "").split()
    return f"{user}@{socket.gethostname()}" + (f" (ssh from {client[0]})" if client else "")
