"""Runs the commands of docs/runbooks against a running installation, for `./dev docs-test`.

    runbooks.py LONGSHORED METRICS…

METRICS are the addresses of the processes. A block must succeed with the address of one of them: a server has other
metrics than a worker. `<!-- not run: REASON -->` before a block says why it is not run; these are counted and printed.
Every message that a command searches for in the logs must be in the code, and every command of longshored in the text
must exist. The environment has the variables that docs/runbooks/README.md lists, LOGS, and values for placeholders.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs/runbooks"
FENCE = "```"
SKIPPED = re.compile(r"<!-- not run: (.+) -->")
LOG_SEARCH = re.compile(r"logs \| grep (-E )?'([^']+)'")
INLINE_COMMAND = re.compile(r"`longshored ([^`]+)`")
# What a reader replaces, and the variable with the value of this installation.
PLACEHOLDERS = {
    "prj_…": "PROJECT",
    "HOST:443": "TLS_ADDRESS",
    "-servername HOST": "TLS_SERVER_NAME",
    "/path/client.pem": "TLS_FILE",
}
LOGS = 'logs() { cat "$LOGS"/serve.log "$LOGS"/work-*.log; }\n'
BLOCK_TIMEOUT = 120
# Some metrics appear with the first audit, the first load or the first callback.
ATTEMPTS, ATTEMPT_PAUSE = 60, 1


def read_blocks(page):
    """The language, the text and the reason not to run it of every code block of a page."""
    blocks, reason, language, lines = [], None, None, []
    for line in page.splitlines():
        if language is None and line.startswith(FENCE):
            language, lines = line[len(FENCE) :], []
        elif language is not None and line == FENCE:
            blocks.append((language, "\n".join(lines), reason))
            reason = language = None
        elif language is not None:
            lines.append(line)
        elif line:
            found = SKIPPED.fullmatch(line)
            reason = found[1] if found else None
    return blocks


def fill_placeholders(text):
    for placeholder, name in PLACEHOLDERS.items():
        text = text.replace(placeholder, os.environ[name])
    return text


def run_block(text, addresses):
    """None if it succeeds with the metrics of one process, else its last output."""
    script = "set -eu\n" + LOGS + fill_placeholders(text) + "\n"
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


def main(longshored, *addresses):
    faults, ran, skipped, code = [], 0, [], read_code()
    for path in sorted(PAGES.glob("*.md")):
        text = path.read_text()
        found = [*find_unknown_messages(text, code), *find_unknown_commands(text, longshored)]
        for language, block, reason in read_blocks(text):
            if reason:
                skipped.append(f"{path.name}: {' '.join(block.split())}: {reason}")
            elif language != "sh":
                found.append(f"a block of {language or 'no language'} is not run: make it sh, or give a reason")
            else:
                ran += 1
                output = run_block(block, addresses)
                found += [] if output is None else [f"a block failed:\n{output}"]
        faults += [f"docs/runbooks/{path.name}: {fault}" for fault in found]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{ran} blocks of commands in docs/runbooks ran, {len(skipped)} are not run:")
    for line in skipped:
        print(f"  {line}")
    return 1 if faults or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
