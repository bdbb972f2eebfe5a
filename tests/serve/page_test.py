# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""The files of the page and the JSON that it shows, with HTTP; browser_test.py uses the page itself."""
import gzip
import json
import tempfile
import unittest

from server import NOVA, ROOT, Server

DIST = ROOT / "web/dist"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory()
        cls.server = Server(NOVA, "--kv-cache", cls.cache.name)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.cache.cleanup()

    def test_files_are_those_of_the_source(self):
        for path in DIST.iterdir():
            url = "/" if path.name == "index.html" else f"/{path.name}"
            status, headers, body = self.server.request("GET", url)
            self.assertEqual((status, body), (200, path.read_bytes()), url)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            packed = self.server.request("GET", url, headers={"Accept-Encoding": "gzip, br"})
            self.assertEqual(packed[1]["Content-Encoding"], "gzip")
            self.assertEqual(gzip.decompress(packed[2]), path.read_bytes())
            again = self.server.request("GET", url, headers={"If-None-Match": headers["ETag"]})
            self.assertEqual((again[0], again[2]), (304, b""))

    def test_page_may_run_its_own_files_only(self):
        status, headers, body = self.server.request("GET", "/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        policy = headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'; script-src 'self';", policy)
        self.assertIn("frame-ancestors 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for word in (b"http:", b"https:", b"<style", b"style=", b"onload"):
            self.assertNotIn(word, body)

    def test_other_methods_and_paths(self):
        status, headers, body = self.server.request("HEAD", "/")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(int(headers["Content-Length"]), (DIST / "index.html").stat().st_size)
        for method, path in (("POST", "/"), ("GET", "/index.html"), ("GET", "/page.js/"), ("GET", "/%70age.js")):
            self.assertEqual(self.server.request(method, path)[0], 404, f"{method} {path}")

    def test_connection_is_kept_behind_a_reply_without_a_body(self):
        tag = self.server.request("GET", "/page.js")[1]["ETag"]
        connection = self.server.connect()
        for headers in ({"If-None-Match": tag}, {}):
            connection.request("GET", "/page.js", headers=headers)
            response = connection.getresponse()
            self.assertEqual(len(response.read()) > 0, response.status == 200)
        connection.close()

    def test_own_page_may_send_requests(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
        # A browser sends these headers for the page of a server with another address.
        for host in ("192.168.1.5:8080", "rack.local:8080", "[fd00::1]:8080", "localhost:1"):
            headers = {"Host": host, "Origin": f"http://{host}"}
            self.server.post("/v1/chat/completions", body, headers=headers)
        headers = {"Host": "192.168.1.5:8080", "Origin": "http://192.168.1.6:8080"}
        self.server.post("/v1/chat/completions", body, expected=403, headers=headers)

    def test_names_that_a_stranger_can_arrange_are_refused(self):
        for path in ("/v1/models", "/v1/status", "/v1/cluster", "/metrics"):
            self.server.get("/v1/models", headers={"Host": "127.0.0.1"})
            status, _, body = self.server.request("GET", path, headers={"Host": "rebound.example:8080"})
            self.assertEqual(status, 403, path)
            self.assertIn("--cors http://rebound.example:8080", json.loads(body)["error"]["message"])
        # A rebound page also has an origin of that name.
        headers = {"Host": "rebound.example", "Origin": "http://rebound.example"}
        self.server.post("/v1/chat/completions", {"messages": []}, expected=403, headers=headers)

    def test_status_has_what_the_page_shows(self):
        model = self.server.get("/v1/status")["models"][0]
        for key in ("sampled_tokens", "replans"):
            self.assertIsInstance(model[key], int, key)
        self.assertEqual(model["plan_reasons"], [])
        before = model["sampled_tokens"]
        body = {"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 5, "ignore_eos": True}
        self.server.post("/v1/chat/completions", body)
        self.assertEqual(self.server.get("/v1/status")["models"][0]["sampled_tokens"], before + 5)
        disk = self.server.get("/v1/status")["models"][0]["disk_cache"]
        self.assertEqual(disk["bytes_limit"], 8 << 30)

    def test_server_without_a_cluster(self):
        self.assertEqual(self.server.get("/v1/cluster"), {"nodes": []})


class AccessTest(unittest.TestCase):
    def test_page_needs_no_key_and_its_requests_do(self):
        server = Server(NOVA, environment={"ASTER_API_KEY": "secret"})
        try:
            self.assertEqual(server.request("GET", "/")[0], 200)
            self.assertEqual(server.request("GET", "/page.js")[0], 200)
            for path in ("/v1/models", "/v1/status", "/v1/cluster"):
                server.get(path, expected=401)
                server.get(path, headers={"Authorization": "Bearer secret"})
                # A key protects from DNS rebinding.
                server.get(path, headers={"Authorization": "Bearer secret", "Host": "chat.example"})
        finally:
            server.stop()

    def test_metrics_that_need_no_key_are_not_for_pages_of_others(self):
        server = Server(NOVA, "--open-metrics", environment={"ASTER_API_KEY": "secret"})
        key = {"Authorization": "Bearer secret"}
        try:
            for headers, expected in (({}, 200), ({"Host": "chat.example"}, 403), ({"Host": "chat.example"} | key, 200),
                                      ({"Origin": "https://chat.example"}, 403)):
                self.assertEqual(server.request("GET", "/metrics", headers=headers)[0], expected, headers)
                self.assertEqual(server.request("GET", "/v1/models", headers=headers)[0], 403 if "Origin" in headers
                                 else 200 if "Authorization" in headers else 401, headers)
        finally:
            server.stop()

    def test_each_of_several_origins_reads_its_own_answers(self):
        server = Server(NOVA, "--cors", "https://a.example", "--cors", "https://b.example")
        try:
            for origin, allowed in (("https://a.example", True), ("https://b.example", True), ("https://c.example", 0)):
                status, headers, _ = server.request("GET", "/v1/models", headers={"Origin": origin})
                self.assertEqual(status, 200 if allowed else 403)
                self.assertEqual(headers["Access-Control-Allow-Origin"], origin if allowed else None)
                self.assertEqual(headers["Vary"], "Origin")
            status, headers, _ = server.request("OPTIONS", "/v1/models", headers={"Origin": "https://b.example"})
            self.assertEqual((status, headers["Access-Control-Max-Age"]), (204, "7200"))
            self.assertIn("X-Request-Id", headers["Access-Control-Expose-Headers"])
        finally:
            server.stop()

    def test_origin_that_is_allowed_is_a_name_of_the_server(self):
        server = Server(NOVA, "--cors", "https://chat.example")
        try:
            server.get("/v1/models", headers={"Host": "chat.example"})
            server.get("/v1/models", expected=403, headers={"Host": "other.example"})
        finally:
            server.stop()


class NodesTest(unittest.TestCase):
    def test_status_says_which_node_has_which_layers(self):
        server = Server(NOVA, "--local-nodes", 2)
        try:
            hops = server.get("/v1/status")["models"][0]["hops"]
            self.assertEqual(hops[0]["layer_begin"], 0)
            for one, next_one in zip(hops, hops[1:]):
                self.assertEqual(one["layer_end"], next_one["layer_begin"])
            self.assertGreater(hops[-1]["layer_end"], 0)
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
