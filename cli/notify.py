"""The notification protocol of systemd (sd_notify(3)): a datagram to the socket it names."""

from __future__ import annotations

import os
import socket


def notify(*assignments: str) -> bool:
    """Send ``assignments`` such as ``READY=1`` to the service manager.

    Returns:
        Whether there is a service manager that wants to know (``NOTIFY_SOCKET`` is set).

    Raises:
        OSError: the socket does not take the message.
        ValueError: the address is neither a path nor an abstract name.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address[0] not in "/@":
        raise ValueError(f"NOTIFY_SOCKET={address}: neither a path nor an abstract name")
    if address[0] == "@":
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.connect(address)
        sender.sendall("\n".join(assignments).encode())
    return True
