"""A job done for many items: by processes of this machine, or by a cluster.

Knows nothing of what the job is.
"""

from engines.engine import Broken, Engine, Job, Pulse, Watch
from engines.local import Local

__all__ = ["Broken", "Engine", "Job", "Local", "Pulse", "Watch"]
