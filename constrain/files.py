"""What is said of a file that cannot be read or written: the same words wherever it happens."""

from __future__ import annotations

import os


def file_problem(error: OSError) -> str:
    """Why, without the name."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"  # in writing it is the folder
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a file"
    if isinstance(error, PermissionError):
        return "access is not permitted"
    return error.strerror or str(error)


def file_error(error: OSError) -> str:
    """Name and reason; of an error that names no file, its own words."""
    if error.errno is None or error.filename is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {file_problem(error)}"
