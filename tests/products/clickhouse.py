# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""ClickHouse's engine as a library, and in front of it as much of ClickHouse's HTTP interface as a collector needs to
insert rows.
"""
import http.server
import pathlib
import re
import tempfile
import threading
import urllib.parse

from chdb import session


class ClickHouse:
    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.session = session.Session(f"{self.folder.name}/data")
        self.failures = []
        self.http = http.server.HTTPServer(("127.0.0.1", 0), self._handler())  # one insertion at a time
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
        self.session.close()
        self.folder.cleanup()

    def query(self, sql, form="TabSeparatedRaw"):
        return str(self.session.query(sql, form))

    def rows(self, sql):
        return [line.split("\t") for line in self.query(sql).splitlines()]

    def insert(self, database, statement, body):
        """INSERT INTO table (columns) FORMAT RowBinary, with the rows in the body."""
        table, columns = re.fullmatch(r"INSERT INTO (\w+) \((.*)\) FORMAT RowBinary", statement).groups()
        table = f"{database}.{table}"
        types = {name: kind for name, kind, *_ in self.rows(f"DESCRIBE {table}")}
        structure = ", ".join(f"`{name}` {types[name]}" for name in columns.split(","))
        file = pathlib.Path(self.folder.name) / "rows"
        file.write_bytes(body)
        self.query(f"INSERT INTO {table} ({columns}) SELECT * FROM file('{file}', 'RowBinary', '{structure}')")

    def _handler(self):
        clickhouse = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
                body = b""
                while size := int(self.rfile.readline(), 16):  # chunked
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                status, answer = 200, b""
                try:
                    clickhouse.insert(asked["database"], asked["query"], body)
                except Exception as failure:  # whatever it is, the test must hear of it
                    clickhouse.failures.append(failure)
                    status, answer = 500, str(failure).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        return Handler
