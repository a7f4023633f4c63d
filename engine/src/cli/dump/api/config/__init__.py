"""The arguments of the Tiltfile."""

from typing import Any, Dict, List, Optional

main_path: str = ""
"""The absolute path of the main Tiltfile."""

main_dir: str = ""
"""The folder of the main Tiltfile."""

tilt_subcommand: str = ""
"""The command that runs the Tiltfile: up, ci or down."""


def parse() -> Dict[str, Any]:
    """Reads the arguments that were defined; resources are then no arguments by themselves."""


def define_string_list(name: str, args: bool = False, usage: str = "") -> None:
    """Defines an argument that can be given several times."""


def define_string(name: str, args: bool = False, usage: str = "") -> None:
    """Defines an argument that is a text."""


def define_bool(name: str, args: bool = False, usage: str = "") -> None:
    """Defines an argument that is yes or no."""


def define_object(name: str, args: bool = False, usage: str = "") -> None:
    """Defines an argument that is JSON."""


def set_enabled_resources(resources: List[str]) -> None:
    """Runs only these resources, and what they depend on."""


def clear_enabled_resources() -> None:
    """Runs no resource by itself."""
