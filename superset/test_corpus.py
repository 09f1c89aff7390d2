"""The corpus: requests that some vendor refuses. Each is refused at load or answered; none is accepted and then fails."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ENDED, read_faults
from corpus.generate import FOLDER, lines
from corpus.schema_rules import VENDORS

CONCURRENT_REQUESTS = 8


def read(vendor):
    return [json.loads(line) for line in (FOLDER / f"{vendor}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_corpus_is_what_its_rules_generate(vendor):
    written = (FOLDER / f"{vendor}.jsonl").read_text()
    assert written == lines(vendor), "run `python3 -m corpus.generate` in the folder superset"


def test_the_corpus_has_enough_requests():
    every = [entry for vendor in VENDORS for entry in read(vendor)]
    assert len({entry["id"] for entry in every}) == len(every)
    assert sum(entry["expect"] == "refused" for entry in every) >= 300
    assert sum(entry["expect"] == "accepted" for entry in every) >= 300


@pytest.mark.parametrize("vendor", VENDORS)
def test_each_request_is_refused_at_its_fault_or_answered(pro, vendor):
    entries = read(vendor)
    with ThreadPoolExecutor(CONCURRENT_REQUESTS) as pool:
        answers = list(pool.map(lambda entry: pro.post(entry["params"]), entries))
        accepted = [(entry, answer) for entry, answer in zip(entries, answers, strict=True) if answer.is_success]
        records = list(pool.map(lambda pair: pro.wait(pair[1].json()["cargo_id"], ENDED), accepted))
    wrong = [mistake(entry, answer) for entry, answer in zip(entries, answers, strict=True)]
    for (entry, _), record in zip(accepted, records, strict=True):
        if not record["success"]:
            wrong.append(f"{entry['id']}: accepted, and then failed: {record['error']}")
    wrong = [text for text in wrong if text]
    assert not wrong, f"{len(wrong)} of {len(entries)}:\n" + "\n".join(wrong)


def mistake(entry, answer):
    """What is wrong with the answer to a load, if anything."""
    if entry["expect"] == "accepted":
        return None if answer.status_code == 202 else f"{entry['id']}: should be accepted: {answer.text[:300]}"
    if answer.status_code != 422:
        return f"{entry['id']}: should be refused at {entry['loc']}, but got {answer.status_code}"
    places = [fault.place for fault in read_faults(answer)]
    return None if entry["loc"] in places else f"{entry['id']}: {entry['loc']} is not among {places}"
