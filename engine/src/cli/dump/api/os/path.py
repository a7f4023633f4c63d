"""Paths of files."""

from typing import Optional


def abspath(path: str) -> str:
    """The absolute form of a path."""


def basename(path: str) -> str:
    """The last part of a path."""


def dirname(path: str) -> str:
    """A path without its last part."""


def exists(path: str) -> bool:
    """Whether a file or folder exists; the Tiltfile runs again when that changes."""


def join(path: str, *paths: str) -> str:
    """Puts paths together."""


def realpath(path: str) -> str:
    """The path without links in it."""


def relpath(targpath: str, basepath: Optional[str] = None) -> str:
    """A path as seen from a folder."""
