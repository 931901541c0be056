"""Renders the shop's invoices: handles `invoice.render`, and publishes what came of it to `invoice.rendered`."""

import os
import sys
import time
from pathlib import Path

# So that nothing has to be installed here. Elsewhere: pip install ./clients/python
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "clients" / "python" / "src"))

from nestjs_delay_queue import DelayQueue, ReceivedMessage, UnrecoverableError, Worker  # noqa: E402

NAME = os.environ.get("WORKER_NAME", "python")

#: Rendering takes its time. Seconds for each line of an invoice.
TIME_FOR_A_LINE = 0.05

queue = DelayQueue(os.environ["GATEWAY_URL"], os.environ["GATEWAY_TOKEN"])


def render(message: ReceivedMessage) -> None:
    number, customer, lines = (message.payload.get(name) for name in ("number", "customer", "lines"))
    if not lines:
        raise UnrecoverableError(f"Invoice {number} has no lines.")  # Doing it again would not help.
    print(f"begins invoice {number}, attempt {message.attempt}", flush=True)

    document = [f"Invoice {number} for {customer}"]
    for line in lines:
        if message.lost.is_set():
            return  # Another worker does it by now.
        time.sleep(TIME_FOR_A_LINE)
        document.append(f"{line['text']}: {line['cents'] / 100:.2f}")
    document.append(f"Total: {sum(line['cents'] for line in lines) / 100:.2f}")

    # Whoever dies between this and its end does all of it again, so the shop may be told twice.
    queue.publish(
        "invoice.rendered",
        {"number": number, "document": "\n".join(document), "worker": NAME, "attempt": message.attempt},
        id=number,
        on_duplicate="replace",
    )


worker = Worker(queue, "invoice.render", render, concurrency=2, lease=os.environ.get("LEASE", "30s"))
print("ready", flush=True)
worker.run()
