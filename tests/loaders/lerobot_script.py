"""Writes a data set with LeRobot, reads it with LeRobot: ``ROOT READ.npz [CODEC] [streamed]``.

In a process of its own, since releases of the package exclude each other.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np

from tests.clips import picture

CAMERAS = ("observation.images.front", "observation.images.wrist")
LENGTHS = (7, 12, 3, 9, 5)
FPS = 30  # its frames are no whole number of milliseconds apart
SIZE = (160, 120)


def write(root: str, codec: str | None, streamed: bool) -> None:
    """Records the episodes; frame n of camera c is picture n of version c."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    features: dict[str, Any] = {
        camera: {
            "dtype": "video",
            "shape": (SIZE[1], SIZE[0], 3),
            "names": ["height", "width", "channels"],
        }
        for camera in CAMERAS
    }
    features["action"] = {"dtype": "float32", "shape": (2,), "names": ["x", "y"]}
    options: dict[str, Any] = {"streaming_encoding": True} if streamed else {}
    if codec is not None:
        options["vcodec"] = codec
    dataset = LeRobotDataset.create("local/set", FPS, features, root=root, **options)
    tasks_apart = "task" in inspect.signature(dataset.add_frame).parameters
    n = 0
    for length in LENGTHS:
        for _ in range(length):
            frame: dict[str, Any] = {
                camera: picture(n, place, SIZE) for place, camera in enumerate(CAMERAS)
            }
            frame["action"] = np.zeros(2, np.float32)
            if tasks_apart:
                dataset.add_frame(frame, task="move")
            else:
                dataset.add_frame({**frame, "task": "move"})
            n += 1
        dataset.save_episode()
    if hasattr(dataset, "finalize"):
        dataset.finalize()


def read(root: str, target: str) -> None:
    """Saves what each index gives, [steps, H, W, 3] for each camera."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset("local/set", root=root)
    items = [dataset[n] for n in range(len(dataset))]
    arrays: dict[str, Any] = {}
    for camera in CAMERAS:
        images = np.stack([item[camera].numpy() for item in items])
        arrays[camera] = np.round(images * 255).astype(np.uint8).transpose(0, 2, 3, 1)
    np.savez(target, **arrays)


if __name__ == "__main__":
    root, target, *rest = sys.argv[1:]
    codec = next((word for word in rest if word != "streamed"), None)
    write(root, codec, "streamed" in rest)
    read(root, target)
