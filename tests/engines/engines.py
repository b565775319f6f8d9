"""Open the built site's self-test in Firefox and WebKit, and take what it reports."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from panel_freeze.serve import SiteHandler, serving

MINI_BROWSER = next(iter(sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))), None)
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"


def firefox() -> str | None:
    """Return Firefox's command, if it is installed."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


def webkit() -> Path | None:
    """Return WebKit's little browser, if it and a virtual screen are installed."""
    return MINI_BROWSER if shutil.which("xvfb-run") else None


def self_test(site: Path, command: list[str], query: str = "", seconds: float = 180) -> dict[str, Any]:
    """Open the site's self-test with a browser's command line, and return its report."""
    reports: queue.Queue[dict[str, Any]] = queue.Queue()

    class Handler(SiteHandler):
        def do_POST(self) -> None:
            reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

    with serving(site, handler=Handler) as address, _running([*command, f"{address}?selftest=report{query}"]):
        return reports.get(timeout=seconds)


@contextmanager
def _running(command: list[str]) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "MOZ_HEADLESS": "1", "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
        silent = subprocess.DEVNULL
        process = subprocess.Popen(command, env=environment, stdout=silent, stderr=silent, start_new_session=True)
        try:
            yield
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def firefox_command(profile: Path) -> list[str]:
    """Return the command that opens an address in a fresh, headless Firefox."""
    return [str(firefox()), "--headless", "--no-remote", "--profile", str(profile), "--new-window"]


def webkit_command(agent: str = "") -> list[str]:
    """Return the command that opens an address in WebKit's little browser, on a virtual screen."""
    agents = [f"--user-agent={agent}"] if agent else []
    return ["xvfb-run", "-a", str(webkit()), *agents]
