"""Runs the commands of docs/runbooks against a running installation, for `./dev docs-test`.

    runbooks.py LONGSHORED METRICS…

METRICS are the addresses of the processes. A block must succeed with the address of one of them: a server has other
metrics than a worker. `<!-- not run: REASON -->` before a block says why it is not run; these are counted and printed.
Before the blocks under "Fix", scripts/runbook_faults.sh makes the fault that they repair, and afterwards checks that it
is gone. Every message that a command searches for in the logs must be in the code, and every command of longshored in
the text must exist. The environment has the variables that docs/runbooks/README.md lists, LOGS, and values for
placeholders.
"""

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/runbooks"
FAULTS = ROOT / "scripts/runbook_faults.sh"
FENCE = "```"
FIX = "## Fix"
SKIPPED = re.compile(r"<!-- not run: (.+) -->")
LOG_SEARCH = re.compile(r"logs \| grep (-E )?'([^']+)'")
INLINE_COMMAND = re.compile(r"`longshored ([^`]+)`")
# What a reader replaces, and what it is in this installation, with variables of the environment or of the fault.
PLACEHOLDERS = {
    "prj_…": "{PROJECT}",
    "key_…": "{LEAKED_KEY_ID}",
    "person link ADDRESS": "person link {PERSON}",
    "provider resume NAME": "provider resume {ACCOUNT}",
    "--shard NAME": "--shard north",
    "pg_drop_replication_slot('NAME')": "pg_drop_replication_slot('{SLOT}')",
    "pg_terminate_backend(PID)": "pg_terminate_backend({BACKEND})",
    "kill -HUP PID": "kill -HUP {PROCESSES}",
    "HOST:443": "{TLS_ADDRESS}",
    "-servername HOST": "-servername localhost",
    "/path/client.pem": "{TLS_FILE}",
}
LOGS = 'logs() { cat "$LOGS"/serve.log "$LOGS"/work-*.log; }\n'
BLOCK_TIMEOUT = 120
# Some metrics appear with the first audit, the first load or the first callback.
ATTEMPTS, ATTEMPT_PAUSE = 60, 1


class Block(NamedTuple):
    section: str
    language: str
    text: str
    reason: str | None
    """Why it is not run."""


class FaultError(Exception):
    """A fault could not be made, or the commands of the page did not repair it."""


class Faults:
    """What scripts/runbook_faults.sh makes for the blocks under "Fix", and checks after them."""

    def __init__(self):
        self.pages = self.call("list").split()

    def call(self, *arguments):
        ended = subprocess.run(
            ["bash", FAULTS, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
            timeout=BLOCK_TIMEOUT,
        )
        if ended.returncode:
            raise FaultError(f"{FAULTS.name} {' '.join(arguments)} failed:\n{ended.stdout}{ended.stderr[-4000:]}")
        return ended.stdout

    def make(self, page):
        """The values of placeholders."""
        if page not in self.pages:
            return {}
        return dict(line.split("=", 1) for line in self.call("make", page).splitlines() if "=" in line)

    def check(self, page):
        if page in self.pages:
            self.call("check", page)


def read_blocks(page):
    """Every code block of a page. A block inside a list is indented."""
    blocks, section, reason, language, lines = [], "", None, None, []
    for line in page.splitlines():
        mark = line.lstrip()
        if language is None and mark.startswith(FENCE):
            language, lines = mark[len(FENCE) :], []
        elif language is not None and mark == FENCE:
            blocks.append(Block(section, language, textwrap.dedent("\n".join(lines)), reason))
            reason = language = None
        elif language is not None:
            lines.append(line)
        elif line:
            found = SKIPPED.fullmatch(mark)
            reason = found[1] if found else None
            section = line if line.startswith("## ") else section
    return blocks


def fill_placeholders(text, values):
    for placeholder, value in PLACEHOLDERS.items():
        if placeholder in text:
            text = text.replace(placeholder, value.format_map(values))
    return text


def run_block(text, addresses, values):
    """None if it succeeds with the metrics of one process, else its last output."""
    script = "set -eu\n" + LOGS + fill_placeholders(text, values) + "\n"
    output = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(ATTEMPT_PAUSE)
        for address in addresses:
            command = ["bash", "-xc", script]
            environment = os.environ | {"METRICS": address}
            try:
                ended = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=BLOCK_TIMEOUT,
                    stdin=subprocess.DEVNULL, check=False,
                )
            except subprocess.TimeoutExpired:
                return f"it does not end within {BLOCK_TIMEOUT} s"
            if ended.returncode == 0:
                return None
            output = ended.stdout[-2000:] + ended.stderr[-4000:]
        # Only a metric can appear later.
        if "$METRICS" not in text:
            break
    return output


def find_unknown_messages(text, code):
    """The messages that the page searches for, and no line of code logs."""
    for extended, pattern in LOG_SEARCH.findall(text):
        # A pattern with groups is about the format of the logs, not about a message.
        if "(" in pattern:
            continue
        for message in pattern.split("|") if extended else [pattern]:
            if message.strip('"') not in code:
                yield f"no code logs {message!r}"


def find_unknown_commands(text, longshored):
    """The commands of the text that do not exist, or lack an option."""
    for command in sorted(set(INLINE_COMMAND.findall(text))):
        words = command.split()
        names = []
        for word in words:
            if not re.fullmatch(r"[a-z][a-z-]*", word):
                break
            names.append(word)
        ended = subprocess.run([longshored, *names, "--help"], capture_output=True, text=True, check=False)
        if ended.returncode:
            yield f"longshored {command}: {ended.stderr[-300:]}"
        for option in (word.split("=")[0] for word in words if word.startswith("--")):
            if option not in ended.stdout:
                yield f"longshored {command}: it has no {option}"


def read_code():
    return "\n".join(path.read_text() for path in sorted(ROOT.glob("crates/*/src/**/*.rs")))


def run_page(page, blocks, addresses, made):
    """Runs the blocks of a page in their order, those under "Fix" with its fault. Yields what goes wrong."""
    fixes = [block for block in blocks if block.section == FIX]
    if page in made.pages and not fixes:
        yield f"{FAULTS.name} has its fault, but no block under {FIX!r} repairs it"
    values = os.environ.copy()
    for block in blocks:
        try:
            if fixes and block is fixes[0]:
                values |= made.make(page)
            output = run_block(block.text, addresses, values)
            if output is not None:
                yield f"a block failed:\n{output}"
            if fixes and block is fixes[-1]:
                made.check(page)
        except (FaultError, subprocess.TimeoutExpired) as failure:
            yield str(failure)
        except KeyError as missing:
            yield f"nothing has a value for {missing}, which a block needs: {block.text}"


def main(longshored, *addresses):
    faults, ran, skipped, code, made = [], 0, [], read_code(), Faults()
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text()
        found = [*find_unknown_messages(text, code), *find_unknown_commands(text, longshored)]
        blocks = []
        for block in read_blocks(text):
            if block.reason:
                skipped.append(f"{path.name}: {' '.join(block.text.split())}: {block.reason}")
            elif block.language != "sh":
                found.append(f"a block of {block.language or 'no language'} is not run: make it sh, or give a reason")
            else:
                blocks.append(block)
        ran += len(blocks)
        found += run_page(path.stem, blocks, addresses, made)
        faults += [f"docs/runbooks/{path.name}: {fault}" for fault in found]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{ran} blocks of commands in docs/runbooks ran, with the faults of {', '.join(made.pages)}.")
    print(f"{len(skipped)} are not run:")
    for line in skipped:
        print(f"  {line}")
    return 1 if faults or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
