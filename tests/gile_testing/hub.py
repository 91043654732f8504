"""A stand-in for the Hugging Face hub: an HTTP server of one folder per name, and its API."""

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub

COMMIT = "c" * 40


class Hub:
    """What was uploaded, and the paths that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.made: list[dict[str, Any]] = []

    def files(self, name: str) -> set[str]:
        folder = self.folder / name
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    # --- uploading: in place of `huggingface_hub.HfApi` ---

    def create_repo(self, name: str, **options: Any) -> str:
        self.made.append({"name": name, **options})
        (self.folder / name).mkdir(parents=True, exist_ok=options["exist_ok"])
        return f"https://hub/{name}"

    def upload_folder(self, repo_id: str, folder_path: Path, **options: Any) -> None:
        def matching(folder: Path, patterns: list[str]) -> Iterator[tuple[Path, Path]]:
            for path in folder.rglob("*"):
                own = path.relative_to(folder)
                if path.is_file() and any(fnmatch(str(own), pattern) for pattern in patterns):
                    yield path, self.folder / repo_id / own

        for _, old in matching(self.folder / repo_id, options["delete_patterns"]):
            old.unlink()
        for path, target in matching(Path(folder_path), options["allow_patterns"]):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    # --- downloading ---

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Answer a request for a path: status, headers and body."""
        self.asked.append(path)
        parts = path.partition("?")[0].strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        user, name, *rest = parts[2:] if api else parts
        folder = self.folder / user / name
        if not folder.is_dir():
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        found = sorted(self.files(f"{user}/{name}"))
        if api and rest[:1] == ["tree"]:
            entries = [
                {"type": "file", "path": file, "size": (folder / file).stat().st_size, "oid": "x"}
                for file in found
            ]
            return 200, {}, json.dumps(entries).encode()
        if api:
            about = {"id": f"{user}/{name}", "sha": COMMIT, "siblings": []}
            about["siblings"] = [{"rfilename": file} for file in found]
            return 200, {}, json.dumps(about).encode()
        file = folder / "/".join(rest[2:])
        if not file.is_file():
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        body = file.read_bytes()
        etag = f'"{hashlib.sha256(body).hexdigest()}"'
        return 200, {"ETag": etag, "X-Repo-Commit": COMMIT}, body


@contextmanager
def stand_in(folder: Path, monkeypatch: Any) -> Iterator[Hub]:
    """Have huggingface_hub talk to a server on this machine."""
    hub = Hub(folder / "hub")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = hub.answer(self.path)
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    download = huggingface_hub.snapshot_download

    def from_here(*args: Any, **options: Any) -> str:
        return download(*args, endpoint=address, cache_dir=folder / "downloaded", **options)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", from_here)
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
