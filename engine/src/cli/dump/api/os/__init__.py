"""The system that the Tiltfile runs on."""

from typing import Dict, Optional

from . import path

environ: Dict[str, str] = {}
"""The environment, which commands get too."""

name: str = ""
"""The system: posix or nt."""


def getcwd() -> str:
    """The folder of the Tiltfile."""


def getenv(key: str, default: Optional[str] = None) -> Optional[str]:
    """A variable of the environment."""


def putenv(key: str, value: str) -> None:
    """Sets a variable of the environment, for commands too."""


def unsetenv(key: str) -> None:
    """Removes a variable of the environment."""
