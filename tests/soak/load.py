"""What users do during a soak: they hand in tasks of every kind, and change their minds."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from taskgate.client import FollowUp, Taskgate
from taskgate.client.errors import ClientError
from taskgate.lifecycle.duties import ANNOUNCED
from tests.soak.figures import Figures

EMBED: Final = "embed_document"
PRIORITIES: Final = ("high", "normal", "low")


class Load:
    """Some users at once, each a thread, until a time. What they were promised is in `ids`."""

    def __init__(self, url: str, key: str, hook: str, until: float, figures: Figures) -> None:
        self.url, self.key, self.hook, self.until = url, key, hook, until
        self.figures, self.ids = figures, list[str]()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._user, args=(i,)) for i in range(3)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _user(self, number: int) -> None:
        rng = random.Random(number)
        canceled: list[dict[str, Any]] = []
        with Taskgate(self.url, self.key) as client:
            while time.monotonic() < self.until:
                try:
                    self._turn(client, rng, canceled)
                except ClientError:
                    self._refused()
                time.sleep(rng.uniform(0.1, 0.6))

    def _turn(self, client: Taskgate, rng: random.Random, canceled: list[dict[str, Any]]) -> None:
        """One task: a new one, or again what was canceled softly, whose result may be kept."""
        again = bool(canceled) and rng.random() < 0.3
        job = canceled.pop(0) if again else self._job(client, rng)
        options = {} if again else self._options(rng)
        priority = rng.choice(PRIORITIES)
        handle = client.submit(**job, **options, priority=priority)
        self._count("submitted again" if again else "", handle.id)
        if rng.random() < 0.12:
            mode = rng.choice(("soft", "hard"))
            if mode == "soft":
                canceled.append(job)
            time.sleep(rng.uniform(0, 1.5))
            self._steer(f"canceled {mode}", lambda: client.cancel(handle.id, mode=mode))
        elif rng.random() < 0.15:
            to = rng.choice(PRIORITIES)
            self._steer("moved", lambda: client.prioritize(handle.id, to))

    def _job(self, client: Taskgate, rng: random.Random) -> dict[str, Any]:
        roll, text = rng.random(), f"Document {rng.random()}. " * 40
        if roll < 0.08:
            document = client.upload(text.encode(), content_type="text/plain")
            return {"type": EMBED, "input": {"document": document.ref}}
        if roll < 0.12:
            return {"type": EMBED, "input": client.upload_input({"text": text}).whole}
        if roll < 0.17:
            # No PDF: it fails for good, and may be reopened in bulk, to fail again.
            return {"type": EMBED, "input": {"format": "pdf", "content_base64": "bm8gcGRm"}}
        if roll < 0.55:
            return {"type": EMBED, "input": {"text": text}}
        picture = {"prompt": f"soak {rng.random()}", "width": 64, "height": 64, "steps": 5}
        step_ms = rng.choice((0, 100, 400, 1500))
        return {"type": "text_to_image", "input": {**picture, "step_ms": step_ms}}

    def _options(self, rng: random.Random) -> Mapping[str, Any]:
        options: dict[str, Any] = {}
        if rng.random() < 0.3:
            options |= {"callback_url": self.hook, "callback_events": list(ANNOUNCED.values())}
        if rng.random() < 0.1:
            options["then"] = [FollowUp(type=EMBED, input={"text": f"After {rng.random()}."})]
        return options

    def _steer(self, name: str, act: Any) -> None:
        """A verb whose state does not fit any more is refused, which is an answer too."""
        with suppress(ClientError):
            act()
            self._count(name)

    def _count(self, name: str, task_id: str = "") -> None:
        with self._lock:
            if task_id:
                self.ids.append(task_id)
            if name:
                self.figures.asked[name] += 1

    def _refused(self) -> None:
        with self._lock:
            self.figures.refused += 1
        time.sleep(0.5)
