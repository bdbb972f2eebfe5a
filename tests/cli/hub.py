# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""A model hub for tests that redirects, breaks, lies and refuses as a test plans."""
import hashlib
import http.server
import json
import socket
import struct
import threading


class Hub(http.server.ThreadingHTTPServer):
    """Serves `files` by path; `plan` has the faults of the next requests of a path. A path in `dates` has that
    Last-Modified and a weak ETag. If-Range is ignored."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.dates, self.plan, self.seen = {}, {}, {}, []
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def put_repository(self, contents):
        """Files of the repository org/m, by their names without suffix."""
        entries = []
        for name, content in contents.items():
            self.files[f"/org/m/resolve/main/{name}.gguf"] = content
            entries.append({"type": "file", "path": f"{name}.gguf", "size": len(content),
                            "lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)}})
        self.files["/api/models/org/m/tree/main"] = json.dumps(entries).encode()

    def handle_error(self, request, client_address):
        pass  # connections that this server broke itself


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        path = self.path.split("?")[0]
        self.server.seen.append((path, dict(self.headers)))
        faults = self.server.plan.get(path, [])
        fault = faults.pop(0) if faults else {}
        if "redirect" in fault:
            return self.reply(302, b"", {"Location": fault["redirect"]})
        if "status" in fault:
            return self.reply(fault["status"], b"a page for people", fault.get("headers", {}))
        if path not in self.server.files:
            return self.reply(404, b"nothing here")
        content = self.server.files[path]
        headers = {"ETag": f'"{hashlib.md5(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        if path in self.server.dates:
            headers |= {"ETag": 'W/"1"', "Last-Modified": self.server.dates[path]}
        self.send(content, headers, fault)

    def send(self, content, headers, fault):
        begin, status = 0, 200
        if "Range" in self.headers and not fault.get("no_ranges"):
            begin, status = int(self.headers["Range"][6:-1]), 206
            if begin >= len(content):
                return self.reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        body = content[begin:]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + fault.get("lies_by", 0)))
        self.end_headers()
        if "holds" in fault:
            # The first bytes, and the rest when the test allows it.
            self.wfile.write(body[:1000])
            body = body[1000:]
            fault["holds"].wait(60)
        self.wfile.write(body[:fault.get("breaks_after", len(body))])
        if "breaks_after" in fault or "lies_by" in fault:
            # The connection is reset without a close, as if a cable was pulled.
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    def reply(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
