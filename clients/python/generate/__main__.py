"""Rewrites everything that is generated: python -m generate, in clients/python."""

from generate import errors, sync, types
from generate.paths import SOURCE


def generated_files() -> dict[str, str]:
    """The text of each generated file, by its path in the package."""
    return errors.generated_files() | types.generated_files() | sync.generated_files()


if __name__ == "__main__":
    for path, text in generated_files().items():
        (SOURCE / path).write_text(text)
        print(path)
