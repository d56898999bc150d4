"""A process that mounts fake videos and answers questions about itself on standard input."""

from __future__ import annotations

import json
import logging
import resource
import sys
import threading
from typing import Any

from decoder.corpus import Corpus
from tests.vfs.fakes import FakeService
from vfs import binding
from vfs.adapter import MountOptions, serve
from vfs.traffic import Traffic
from vfs.tree import Tree


def main() -> None:
    videos, mountpoint, module, options = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING)
    binding._CHOICES = (("", module),)
    settings: dict[str, Any] = json.loads(options)
    traffic = Traffic()
    service = FakeService()
    tree = Tree(Corpus(videos), service)
    extra = tuple(settings.pop("extra", ()))

    def answer() -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for line in sys.stdin:
            match line.strip():
                case "calls":
                    told: Any = traffic.arrived
                case "threads":
                    told = sorted(thread.name for thread in threading.enumerate())
                case "decoded":
                    told = sum(service.decoded.values())
                case "binding":
                    told = str(binding.load())
                case "memory":
                    told = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                case question:
                    told = f"what is {question}?"
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()

    mount_options = MountOptions(
        on_ready=answer, on_exit=service.hurry.set, extra=extra, **settings
    )
    serve(tree, mountpoint, mount_options, traffic=traffic)
    service.close()


if __name__ == "__main__":
    main()
