"""Key and value of a record that came with schemas, as JSON for people."""

from collections.abc import Mapping

from frazil.clients.kafka.headers import Headers
from frazil.connectors.keys.sink_config import part_envelope
from frazil.connectors.registry import parsed_with
from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.pipeline.convert.strict import ConversionError
from frazil.pipeline.envelope import opened_one
from frazil.pipeline.schemas.converter import RegistryConverter
from frazil.pipeline.schemas.wire import Part


def read_parts(
    config: Mapping[str, str],
    settings: Settings,
    providers: ConfigProviders,
    parts: Mapping[Part, bytes | None],
    headers: Headers,
    topic: str,
) -> dict[str, bytes]:
    """Read parts of a record as the converters of a connector do that ask a registry; in their place, why they cannot.

    Parts that are not of such a converter are left out.
    """
    found: dict[str, bytes] = {}
    for part, data in parts.items():
        try:
            parsed = parsed_with(providers.resolve(config).config, settings)
            envelope = part_envelope(parsed, part)
            if data is not None and isinstance(envelope, RegistryConverter):
                found[part] = opened_one(data, envelope, headers, topic)[0]
        except ConversionError as error:
            found[part] = f"cannot be read: {error.reason}".encode()
        except FrazilError as error:
            found[part] = f"cannot be read: {error}".encode()
    return found
