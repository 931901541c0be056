from __future__ import annotations

import threading
from typing import Callable


def start_thread(name: str, target: Callable[[], object]) -> threading.Thread:
    # A handler that hangs must not keep the process from ending.
    thread = threading.Thread(target=target, name=f"delay-queue-{name}", daemon=True)
    thread.start()
    return thread
