"""Fuzzes the API by its description and the dashboard by its forms: run.py BASE_URL --cases N --seed S --folder FOLDER.

The environment has the API key of a project, LONGSHORE_FUZZ_KEY, and the setup link of the dashboard,
LONGSHORE_FUZZ_SETUP. Ends with one line of JSON, and with an exit code other than 0 if something was found.
"""

import argparse
import json
import os
import sys
import time

from form_posts import PROJECTS, FormPosts
from schema_cases import CHECKS, EXCLUDED, SchemaCases
from services import Api, SessionCleaner, prepare, prepare_pages, read_known_ids, start_receiver

CASES_PER_POST = 10


def run_cases(options, api):
    """Sends the cases of the API, with a cleaner beside them."""
    cases = SchemaCases(options.base, options.folder, start_receiver(), lambda: read_known_ids(api))
    cleaner = SessionCleaner(api)
    cleaner.start()
    cases.run(options.cases, options.seed)
    cases.broken += cleaner.stop()
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.cases:,} cases", file=sys.stderr)
    began = time.monotonic()
    api = Api(options.base, os.environ["LONGSHORE_FUZZ_KEY"])
    prepare(api, PROJECTS[0])
    cases = run_cases(options, api)
    prepare_pages(api, PROJECTS[0])
    forms = FormPosts(options.base, options.seed)
    forms.run(max(1, options.cases // CASES_PER_POST), os.environ["LONGSHORE_FUZZ_SETUP"])
    broken = cases.broken + forms.findings
    verdict = {
        "name": "fuzz api",
        "ok": not broken,
        "broken": broken,
        "seed": options.seed,
        "cases": cases.cases(),
        "answers": cases.by_operation(),
        "checks": CHECKS,
        "excluded": EXCLUDED,
        "form_posts": forms.posts,
        "forms": len(forms.forms),
        "pages": len(forms.pages),
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(verdict))
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
