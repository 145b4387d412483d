"""OpenTelemetry's standard variables: which signals are sent by OTLP, and who sends them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal

from frazil.environment.extras import extra
from frazil.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

Signal = Literal["traces", "metrics"]

_PROTOCOL = "http/protobuf"


def is_wanted(env: Mapping[str, str], signal: Signal) -> bool:
    """Whether the variables ask for a signal. Raises ConfigError for an exporter or a protocol that there is not."""

    def given(name: str) -> str:
        return env.get(name, "").strip()

    kind = signal.upper()
    addressed = given("OTEL_EXPORTER_OTLP_ENDPOINT") or given(f"OTEL_EXPORTER_OTLP_{kind}_ENDPOINT")
    exporter = given(f"OTEL_{kind}_EXPORTER") or ("otlp" if addressed else "none")
    if exporter == "none" or given("OTEL_SDK_DISABLED").lower() == "true":
        return False
    named = given(f"OTEL_EXPORTER_OTLP_{kind}_PROTOCOL") or given("OTEL_EXPORTER_OTLP_PROTOCOL") or _PROTOCOL
    for what, value, known in (
        (f"OTEL_{kind}_EXPORTER", exporter, "otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", named, _PROTOCOL),
    ):
        if value != known:
            raise ConfigError(f"{what} is {value}; {signal} are sent by {known} only. The worker was not started.")
    return True


def resource_of(env: Mapping[str, str], worker_id: str) -> Resource:
    """The worker, as what is sent names it. Raises ConfigError without the extra `otel`.

    Variables of an environment file are put into the process' own: OpenTelemetry's exporters look nowhere else.
    """
    with extra("otel"):
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    os.environ.update({name: text for name, text in env.items() if name.startswith("OTEL_")})
    own = {"service.name": "frazil", "service.version": version("frazil"), "service.instance.id": worker_id}
    return Resource.create(own).merge(OTELResourceDetector().detect())
