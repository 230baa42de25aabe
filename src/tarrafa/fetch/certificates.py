"""Where this machine keeps the certificates that it trusts."""

import ssl
from pathlib import Path

# libcurl knows only the place of the system on which it was built.
_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def system_certificates() -> Path | None:
    """The file, as Python finds it, else in the usual places."""
    places = (ssl.get_default_verify_paths().cafile, *_PLACES)
    return next((Path(place) for place in places if place and Path(place).is_file()), None)
