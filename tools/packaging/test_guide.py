"""Everything that is shipped has the guide, in the folder that its SVC_GUIDE_DIR names."""

import re
import subprocess

import pytest
from settings_table import ROOT, read_settings

FOLDER = "/usr/share/longshore/guide"
SETTING = "SVC_GUIDE_DIR"


def read(path):
    return (ROOT / path).read_text()


def test_the_setting_exists():
    assert SETTING in {each.name for each in read_settings()}


def test_the_image_has_the_guide_where_its_setting_says():
    text = read("packaging/image/Dockerfile")
    last = text[text.index("FROM scratch") :]
    assert re.findall(rf'{SETTING}="([^"]*)"', last) == [FOLDER]
    assert re.findall(r"^COPY --from=guide /out/ (\S+)$", last, re.MULTILINE) == [f"{FOLDER}/"]


@pytest.mark.parametrize("path", ["longshored.service.in", "longshored-run"])
def test_the_package_names_the_folder_of_the_guide(path):
    found = re.findall(rf"Environment=(.*{SETTING}=(\S+))", read(f"packaging/debian/{path}"))
    assert found == [(f"{SETTING}={FOLDER}", FOLDER)]


def test_the_settings_of_an_operator_override_the_folder():
    """systemd reads files after Environment=, and an old longshored.env has no SVC_GUIDE_DIR."""
    for path in ["longshored.env", "longshored-work.env"]:
        lines = read(f"packaging/debian/{path}").splitlines()
        assert [line for line in lines if line.startswith(SETTING)] == []


def test_the_package_installs_the_guide():
    assert f'cp -R "$guide" "$root{FOLDER}"' in read("scripts/package.sh")


def test_a_release_has_the_guide_as_an_archive_that_is_the_same_each_time(tmp_path):
    made = []
    for name, mode, time in [("one", 0o755, 1), ("two", 0o700, 2)]:
        folder = tmp_path / name
        guide = folder / "guide"
        guide.mkdir(parents=True)
        # Another order, other rights and another time.
        for page in sorted(["index.html", "settings.html"], reverse=name == "two"):
            (guide / page).write_text(page)
        guide.chmod(mode)
        archive = folder / "guide.tar.zst"
        script = f"""
            set -euo pipefail
            cd {ROOT}
            source scripts/release.sh
            SCRATCH={folder}/scratch SOURCE_DATE_EPOCH=1760000000
            touch --date=@{time} {guide}/index.html
            build_guide_archive longshore-1-guide {guide} {archive}
        """
        subprocess.run(["bash", "-c", script], check=True)
        made.append(archive.read_bytes())
    assert made[0] == made[1]
    listed = subprocess.run(["tar", "--zstd", "-tf", archive], capture_output=True, text=True, check=True).stdout
    pages = ["index.html", "settings.html"]
    assert listed.split() == ["longshore-1-guide/", *(f"longshore-1-guide/{page}" for page in pages)]
    text = read("scripts/release.sh")
    assert '"$folder/longshore-$version-guide.tar.zst"' in text


def test_the_trials_fetch_the_guide():
    for path in ["scripts/image_trial.sh", "scripts/package_trial.sh"]:
        assert "guide/settings.html" in read(path)
