"""Runs Schemathesis over /openapi.json, round after round, until enough cases were sent."""

import json
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import acceptance

HERE = Path(__file__).parent

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "unsupported_method",
    "allow_header_conformance",
    "ensure_resource_availability",
    "ignored_auth",
    "ndjson_line_conformance",
]

EXCLUDED = ["negative_data_rejection", "positive_data_acceptance", "use_after_free"]
"""README.md has the reasons."""

BORDER_PHASES = "examples,coverage"
"""The same cases in every run. They have a round of their own, so that what they find is known after seconds."""

RANDOM_PHASES = "fuzzing"
SEQUENCE_PHASES = "fuzzing,stateful"

MIN_CASES_WITH_SEQUENCES = 50_000
"""In a shorter run, sequences along the links would take most of the time."""

PROCESSES = 2
"""Schemathesis makes its cases on one core, and the service leaves most of the other one."""

MAX_EXAMPLES = 400
"""Examples of each operation in a round. A round keeps its answers in memory."""

CASES_PER_EXAMPLE = 10
"""About as many operations take input that can be varied."""


@dataclass
class SchemathesisRun:
    process: subprocess.Popen
    seed: int
    counts: Path
    log: Path


class SchemaCases:
    def __init__(self, base, folder, callbacks, read_ids):
        self.base, self.folder, self.callbacks, self.read_ids = base, Path(folder), callbacks, read_ids
        self.answers = Counter()
        self.broken = []
        self.rounds, self.next_seed = 0, 0

    def cases(self):
        return self.answers.total()

    def run(self, wanted, seed):
        self.next_seed = seed
        self.run_round(BORDER_PHASES, 1, processes=1)
        phases = SEQUENCE_PHASES if wanted >= MIN_CASES_WITH_SEQUENCES else RANDOM_PHASES
        while not self.broken and (self.rounds == 1 or self.cases() < wanted):
            before = self.cases()
            examples = math.ceil((wanted - before) / PROCESSES / CASES_PER_EXAMPLE)
            self.run_round(phases, max(10, min(examples, MAX_EXAMPLES)), PROCESSES)
            if self.cases() == before:
                self.broken.append("a round of Schemathesis sent no case")
        self.judge(wanted)

    def run_round(self, phases, examples, processes):
        """Runs processes side by side, each with the next seed."""
        self.rounds += 1
        for run in [self.start(phases, examples) for _ in range(processes)]:
            self.finish(run)
        print(f"round {self.rounds}: {phases}, {self.cases():,} cases in all", file=sys.stderr)

    def start(self, phases, examples):
        seed, self.next_seed = self.next_seed, self.next_seed + 1
        place = self.folder / f"seed-{seed}"
        place.mkdir()
        counts, log = place / "counts.json", self.folder / f"schemathesis-{seed}.log"
        command = [
            Path(sys.executable).with_name("schemathesis"), "--config-file", HERE / "schemathesis.toml", "run",
            f"{self.base}/openapi.json", "--url", self.base, "--no-color", "--phases", phases,
            "--checks", ",".join(CHECKS), "--max-examples", str(examples), "--seed", str(seed),
        ]
        environment = os.environ | {
            "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
            "LONGSHORE_FUZZ_COUNTS": str(counts),
            "LONGSHORE_FUZZ_CALLBACKS": self.callbacks,
            "LONGSHORE_FUZZ_IDS": json.dumps(self.read_ids()),
        }
        # Where it is set, Hypothesis has other defaults.
        environment.pop("CI", None)
        with open(log, "w") as output:
            # It writes a cache into its working directory.
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=place)
        return SchemathesisRun(process, seed, counts, log)

    def finish(self, run):
        code = run.process.wait()
        self.add(run.counts)
        if code != 0:
            print(run.log.read_text(errors="replace"), file=sys.stderr)
            self.broken.append(f"Schemathesis ended with {code} at seed {run.seed}: see above")

    def add(self, counts):
        if counts.exists():
            for operation, statuses in json.loads(counts.read_text()).items():
                for status, count in statuses.items():
                    self.answers[operation, int(status)] += count

    def judge(self, wanted):
        if self.cases() < wanted:
            self.broken.append(f"{self.cases()} cases were sent, not {wanted}")
        for (operation, status), count in self.answers.items():
            if status >= 500:
                self.broken.append(f"{operation} was answered with {status} {count} times")
        self.broken += acceptance.find_faults(acceptance.read_operations(self.base), self.answers, wanted)

    def by_operation(self):
        table = {}
        for (operation, status), count in sorted(self.answers.items()):
            table.setdefault(operation, {})[str(status)] = count
        return table
