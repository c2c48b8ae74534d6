"""Where a deployment on Azure is asked. Pure.

Dated versions have an address for each deployment and the version in the
query; the v1 API has one address, the deployment is its model. The version
"v1" is the stable one; "preview" and "latest" go into the query there too.
Source: learn.microsoft.com, "Azure OpenAI API version lifecycle", read
2026-11.
"""

import re
from urllib.parse import parse_qs, quote, unquote, urlsplit, urlunsplit

from claw.core.errors import ConfigError
from claw.core.value import Value
from claw.providers.catalog.vendors import Vendor
from claw.providers.connection import Connection

VERSION = "2024-08-01-preview"
_V1 = ("v1", "preview", "latest")
_RESPONSES = "preview"


class AzurePlace(Value):
    """A deployment: `root` is the address before /openai."""

    root: str
    deployment: str
    version: str

    @property
    def is_v1(self) -> bool:
        return self.version in _V1

    @property
    def base(self) -> str:
        """What Chat Completions lies under, with its query."""
        return self.v1() if self.is_v1 else self._at(
            f"deployments/{quote(self.deployment, safe='')}", self.version)

    @property
    def models_url(self) -> str:
        return self.v1("/models") if self.is_v1 \
            else self._at("models", self.version)

    def v1(self, path: str = "") -> str:
        """An address of the v1 API, which is where the Responses API is
        for everyone."""
        return self._at(f"v1{path}", self.version if self.is_v1
                        else _RESPONSES)

    def _at(self, path: str, version: str) -> str:
        url = f"{self.root}/openai/{path}"
        return url if version == "v1" \
            else f"{url}?api-version={quote(version, safe='')}"


def is_azure(vendor: Vendor) -> bool:
    return "AZURE_OPENAI_API_KEY" in vendor.keys


def find_place(connection: Connection) -> AzurePlace:
    """Endpoint, deployment and version: [model_providers.<name>] first,
    then AZURE_OPENAI_*, then what an address says that was copied whole.
    Raises ConfigError for what is missing."""
    named, env = connection.named, connection.env

    def setting(key: str) -> str | None:
        value = getattr(named, f"azure_openai_{key}")
        return value or env.get(f"AZURE_OPENAI_{key.upper()}") or None
    resource = setting("resource")
    url = connection.vendor.url or (
        f"https://{resource}.openai.azure.com" if resource else "")
    if not url:
        raise ConfigError("azure: no resource is set",
                          hint="set AZURE_OPENAI_RESOURCE, or "
                               "azure_openai_resource in config.toml")
    root, told = _split(url)
    deployment = setting("deployment") or told.get("deployment")
    if not deployment:
        raise ConfigError("azure: no deployment is set",
                          hint="set AZURE_OPENAI_DEPLOYMENT, or "
                               "azure_openai_deployment in config.toml")
    return AzurePlace(root, deployment, setting("api_version")
                      or told.get("version") or VERSION)


def _split(url: str) -> tuple[str, dict[str, str]]:
    """The address before /openai, and what stands behind it."""
    scheme, netloc, path, query, _ = urlsplit(url.strip())
    copied = re.match(r"(.*?)/openai/(?:v1|deployments/([^/]+))(?:/.*)?$",
                      path)
    versions = parse_qs(query).get("api-version")
    told = {"version": versions[-1]} if versions else {}
    if copied and copied[2]:
        told["deployment"] = unquote(copied[2])
    elif copied:
        told.setdefault("version", "v1")
    before = copied[1] if copied else path
    return urlunsplit((scheme, netloc, before.rstrip("/"), "", "")), told
