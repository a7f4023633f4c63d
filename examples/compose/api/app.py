"""Answers every request, so that the service has something to do."""

from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok\n")


HTTPServer(("", 5000), Handler).serve_forever()
