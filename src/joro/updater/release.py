"""What is a release, and who says so?

In:    a wheel, a secret key; or what a channel answers, and the public keys an operator has pinned.
Out:   a signed manifest; the manifest, once its signature is found right.
Never: believes a word of a manifest before its signature; lets a name in it lead out of a directory.
Paper: S1 5.3.1 compares file names (prs-200001011.tar.gz); here a version and a moment, both signed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import importlib.util
import os
import re
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from joro.errors import ReleaseError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from packaging.version import Version

#: In a channel: the manifest of the newest release, signed.
NEWEST = "newest.json"
_WHEEL = re.compile(r"joro-[A-Za-z0-9.!+_]+(-[A-Za-z0-9_.]+){3,4}\.whl")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Manifest(msgspec.Struct, frozen=True):
    """What is said about a release; a robot believes the wheel only as far as this goes."""

    version: str
    file: str  # name of the wheel, beside the manifest
    bytes: int
    sha256: str
    python: str  # e.g. ">=3.11"
    created: float  # seconds since 1970


class Signed(msgspec.Struct, frozen=True):
    """A manifest as it travels: the text that was signed, to the letter."""

    manifest: str
    signature: str  # Ed25519, base64


def need_extra() -> None:
    """Complain, before anything is done, where the libraries of the extra are missing."""
    for name in ("cryptography", "packaging"):
        if importlib.util.find_spec(name) is None:
            raise UsageError(f"releases need {name}", remedy="run: pip install 'joro[update]'")


def described(wheel: Path, now: float) -> Manifest:
    """The manifest of a wheel of ours."""
    fields = metadata_of(wheel)
    version = version_of(fields["Version"] or "")
    if fields["Name"] != "joro" or not _WHEEL.fullmatch(wheel.name):
        raise UsageError(
            f"{wheel} is no wheel of joro", remedy="make one: python -m hatchling build -t wheel"
        )
    with wheel.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    python = fields["Requires-Python"] or ""
    manifest = Manifest(str(version), wheel.name, wheel.stat().st_size, digest, python, now)
    return _plausible(msgspec.json.encode(manifest).decode())  # robots would refuse it otherwise


def metadata_of(wheel: Path) -> dict[str, str | None]:
    """The fields of a wheel's METADATA that say what it is; requirements are in `needs`."""
    message = BytesParser().parsebytes(read_metadata(wheel))
    return {name: message[name] for name in ("Name", "Version", "Requires-Python")}


def read_metadata(wheel: Path) -> bytes:
    """The METADATA file of a wheel."""
    try:
        with zipfile.ZipFile(wheel) as content:
            names = [name for name in content.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
            return content.read(names[0])
    except (OSError, zipfile.BadZipFile, IndexError) as error:
        raise UsageError(f"{wheel} is no wheel ({error})", remedy="name a .whl file") from None


def version_of(text: str) -> Version:
    """A version, to be compared."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        raise ReleaseError(f"{text!r} is no version", remedy="write it like 1.2.3 (PEP 440)") from None


def is_newer(one: str, other: str) -> bool:
    """Does a version come after another?"""
    return version_of(one) > version_of(other)


def new_key(path: Path) -> str:
    """Make a secret key in a new file that only its owner can read; the public key for `joro.toml`."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret = Ed25519PrivateKey.generate()
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists", remedy="choose another file: a key is never overwritten") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})", remedy="choose another") from None
    with os.fdopen(file, "wb") as writer:
        writer.write(base64.b64encode(secret.private_bytes_raw()) + b"\n")
    return _public(secret)


def signed(manifest: Manifest, key: Path) -> Signed:
    """The manifest with its signature."""
    text = msgspec.json.encode(manifest).decode()
    signature = _secret(key).sign(text.encode())
    return Signed(text, base64.b64encode(signature).decode())


def public_of(key: Path) -> str:
    """The public half of a secret key."""
    return _public(_secret(key))


def verified(answer: bytes, keys: tuple[str, ...]) -> Manifest:
    """The manifest in what a channel answered, if one of the keys signed it and it can be one."""
    try:
        parcel = msgspec.json.decode(answer, type=Signed)
        signature = base64.b64decode(parcel.signature, validate=True)
    except (msgspec.DecodeError, binascii.Error, ValueError):
        raise ReleaseError(
            "the channel answers something that is no signed manifest",
            remedy=f"see whether update.source leads to a channel: SOURCE/{NEWEST}",
        ) from None
    if not any(_is_signed(parcel.manifest.encode(), signature, key) for key in keys):
        raise ReleaseError(
            "the signature of the manifest is wrong",
            remedy="do not trust this channel before its operator has named the key that signs",
        )
    return _plausible(parcel.manifest)


def check_keys(keys: tuple[str, ...]) -> None:
    """Complain about what is no public key, or that there is none."""
    if not keys:
        raise UsageError(
            "no public key is pinned",
            remedy="set update.public_keys in joro.toml to what joro release key said",
        )
    for key in keys:
        if len(_raw(key)) != 32:
            raise UsageError(
                f"update.public_keys: {key!r} is no key",
                remedy="write what joro release key said, 44 characters",
            )


def _plausible(text: str) -> Manifest:
    """A manifest that was signed may still be nonsense, if its signer was careless."""
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError as error:
        raise ReleaseError(f"the manifest is wrong ({error})", remedy="sign a new release") from None
    version = version_of(manifest.version)
    is_ours = _WHEEL.fullmatch(manifest.file) and manifest.file.startswith(f"joro-{version}-")
    if not is_ours or str(version) != manifest.version:
        raise ReleaseError(
            f"{manifest.file[:100]!r} is no wheel of joro {version}", remedy="sign a new release"
        )
    if manifest.bytes <= 0 or not _SHA256.fullmatch(manifest.sha256):
        raise ReleaseError("the manifest has no size or no SHA-256", remedy="sign a new release")
    return manifest


def _secret(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(path.read_bytes(), validate=False))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} holds no secret key ({error})", remedy="make one: joro release key FILE"
        ) from None


def _public(secret: Ed25519PrivateKey) -> str:
    return base64.b64encode(secret.public_key().public_bytes_raw()).decode()


def _raw(key: str) -> bytes:
    try:
        return base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _is_signed(content: bytes, signature: bytes, key: str) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(_raw(key)).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True
