"""Writes the table of errors of the Rust client from clients/errors.toml."""

import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = {
    "no": "RetryRule::Never",
    "backoff": "RetryRule::Backoff",
    "slow_backoff": "RetryRule::SlowBackoff",
    "retry_after": "RetryRule::RetryAfter",
}
HEAD = """//! Every error that the API can answer. Written by `./dev client-errors` from `clients/errors.toml`.

use crate::error_entry::{ErrorEntry, RetryRule, entry};

#[rustfmt::skip]
pub const ERROR_TABLE: &[ErrorEntry] = &[
"""


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def row(error: dict) -> str:
    code = f"Some({quote(error['code'])})" if "code" in error else "None"
    fields = [str(error["status"]), code, quote(error["class"]), RULES[error["retry"]], quote(error["advice"])]
    return f"    entry({', '.join(fields)}),\n"


def main() -> None:
    errors = tomllib.loads((ROOT / "clients/errors.toml").read_text())["error"]
    table = HEAD + "".join(row(error) for error in errors) + "];\n"
    (ROOT / "crates/client/src/error_table.rs").write_text(table)


if __name__ == "__main__":
    main()
