# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A page in a headless browser that reaches nothing but the server that it is told."""
import contextlib
import shutil

from playwright.sync_api import sync_playwright

_BROWSER = "chromium-headless-shell"
_TIMEOUT_MS = 90000


@contextlib.contextmanager
def open_page(base):
    """A page that may load what begins with `base`; the list gets its errors."""
    with sync_playwright() as driver:
        # Without --no-sandbox a browser refuses to run as root.
        browser = driver.chromium.launch(executable_path=shutil.which(_BROWSER) or _BROWSER,
                                         args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        context = browser.new_context(viewport={"width": 1600, "height": 900}, service_workers="block")
        context.route("**/*", lambda route: route.continue_()
                      if route.request.url.startswith((base, "data:", "blob:")) else route.abort())
        page = context.new_page()
        page.set_default_timeout(_TIMEOUT_MS)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page, errors
        browser.close()
