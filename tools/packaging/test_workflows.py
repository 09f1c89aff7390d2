"""The workflows follow their schema, and name the actions of others by commit: a tag can be moved."""

import re
import subprocess
import sys

import pytest
from settings_table import ROOT

FOLDER = ROOT / ".github/workflows"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_follows_the_schema(path):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit(path):
    used = re.findall(r"uses: (.+)", path.read_text())
    assert used
    assert [each for each in used if not PINNED.fullmatch(each)] == []


def test_the_checks_may_take_as_long_as_the_limits_of_their_steps():
    limits = re.findall(r"^step_within (\d+) ", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    [allowed] = re.findall(r"timeout-minutes: (\d+)", (FOLDER / "ci.yml").read_text())
    # GitHub ends every job of its own runners after six hours.
    assert limits
    assert sum(map(int, limits)) < int(allowed) <= 6 * 60


def test_a_release_publishes_the_folder_whose_checksums_it_signs():
    text = (FOLDER / "release.yml").read_text()
    assert "cd dist/release && sha256sum --check SHA256SUMS" in text
    assert "-m dist/release/SHA256SUMS" in text
    assert "gh release create \"$TAG\" dist/release/*" in text
    assert "DIST=$PWD/dist/release" in (ROOT / "scripts/release.sh").read_text()
