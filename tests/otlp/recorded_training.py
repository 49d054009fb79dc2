# Copyright The Ferret Authors
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training under `ferret run`, and its spans and metrics as OpenTelemetry's own classes have received them."""
import os
import pathlib
import subprocess

from receiver import Receiver

_TRAINING = pathlib.Path(__file__).resolve().parent / "train_classifier.py"


def record(torch_python, ferret, parameters="", **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "FERRET_"))}
    with Receiver() as receiver:
        environment.update(variables, FERRET_EXPORT=f"otlp:{receiver.http_url}{parameters}", FERRET_OVERFLOW="block",
                           FERRET_STOP_DEADLINE="5m", OTEL_SERVICE_NAME="classifier")
        subprocess.run([ferret, "run", "--", torch_python, _TRAINING], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
    return receiver
