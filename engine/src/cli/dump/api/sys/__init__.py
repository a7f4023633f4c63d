"""The program that runs the Tiltfile."""

from typing import List

argv: List[str] = []
"""The arguments of the program."""

executable: str = ""
"""The path of the program."""
