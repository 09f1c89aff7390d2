"""The same answers in batches: jobs, files and lines of results against the types of the providers' clients."""

import json

import anthropic
import openai
import pytest
from answer_types import faults
from conftest import Account, poll
from sample_questions import PATHS, QUESTIONS, body_of, directed
from test_answer_types import check_answer

BATCHED = {name: question for name, question in QUESTIONS.items() if not question.is_flex}
FAILED = {"failed": directed("fail 400")}


def openai_lines(api):
    """The answers of a batch, with its job and files as they were sent."""
    account = Account("openai")
    client = openai.OpenAI(api_key=account.key, base_url=account.url("/v1"), max_retries=0)
    lines = [
        {"custom_id": name, "method": "POST", "url": PATHS[api], "body": body_of(api, question)}
        for name, question in (BATCHED | FAILED).items()
    ]
    content = "\n".join(map(json.dumps, lines)).encode()
    file = client.files.with_raw_response.create(file=("in.jsonl", content), purpose="batch").http_response.json()
    assert faults("openai file", file) == []
    question = {"input_file_id": file["id"], "endpoint": PATHS[api], "completion_window": "24h"}
    created = client.batches.with_raw_response.create(**question).http_response.json()
    assert faults("openai batch", created) == []
    path = f"/v1/batches/{created['id']}"
    job = poll(lambda: json.loads(account.call("GET", path)[1]), lambda it: it["status"] == "completed")
    assert faults("openai batch", job) == []
    answers = {}
    for file_id in (job["output_file_id"], job["error_file_id"]):
        text = account.call("GET", f"/v1/files/{file_id}/content")[1]
        answers |= {line["custom_id"]: line["response"]["body"] for line in map(json.loads, text.splitlines())}
    assert faults("openai error", answers.pop("failed")) == []
    return answers


def anthropic_lines():
    account = Account("anthropic")
    client = anthropic.Anthropic(api_key=account.key, base_url=account.url(), max_retries=0)
    requests = [
        {"custom_id": name.replace(" ", "-"), "params": body_of("anthropic", question)}
        for name, question in (BATCHED | FAILED).items()
    ]
    created = client.messages.batches.with_raw_response.create(requests=requests).http_response.json()
    assert faults("anthropic batch", created) == []
    path = f"/v1/messages/batches/{created['id']}"
    job = poll(lambda: json.loads(account.call("GET", path)[1]), lambda it: it["processing_status"] == "ended")
    assert faults("anthropic batch", job) == []
    lines = map(json.loads, account.call("GET", f"{path}/results")[1].splitlines())
    lines = {line["custom_id"].replace("-", " "): line for line in lines}
    failed = lines.pop("failed")
    assert (faults("anthropic line", failed), failed["result"]["type"]) == ([], "errored")
    # The types of a line repeat those of its message.
    assert faults("anthropic line", lines["plain"]) == []
    return {name: line["result"]["message"] for name, line in lines.items()}


def gemini_lines():
    account = Account("gemini")
    requests = [
        {"request": body_of("gemini", question), "metadata": {"key": name}} for name, question in BATCHED.items()
    ]
    batch = {"displayName": "types", "inputConfig": {"requests": {"requests": requests}}}
    status, text = account.call("POST", "/v1beta/models/gemini-sim:batchGenerateContent", {"batch": batch})
    assert status == 200, text
    path = f"/v1beta/{json.loads(text)['name']}"
    job = poll(lambda: json.loads(account.call("GET", path)[1]), lambda it: it.get("done"))
    lines = job["response"]["inlinedResponses"]["inlinedResponses"]
    return {line["metadata"]["key"]: line["response"] for line in lines}


@pytest.fixture(scope="module")
def answers():
    return {
        "chat": openai_lines("chat"),
        "responses": openai_lines("responses"),
        "anthropic": anthropic_lines(),
        "gemini": gemini_lines(),
    }


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic", "gemini"])
@pytest.mark.parametrize("name", BATCHED)
def test_an_answer_of_a_batch_has_the_types_of_the_client(answers, api, name):
    check_answer(api, name, answers[api][name])


@pytest.mark.parametrize("place", ["status", "request_counts"])
def test_a_planted_type_of_a_job_is_found(place, openai_account):
    """The check itself."""
    client = openai.OpenAI(api_key=openai_account.key, base_url=openai_account.url("/v1"), max_retries=0)
    line = {"custom_id": "a", "method": "POST", "url": PATHS["chat"], "body": body_of("chat", QUESTIONS["plain"])}
    file = client.files.create(file=("in.jsonl", json.dumps(line).encode()), purpose="batch")
    question = {"input_file_id": file.id, "endpoint": PATHS["chat"], "completion_window": "24h"}
    job = client.batches.with_raw_response.create(**question).http_response.json()
    assert faults("openai batch", job | {place: "planted"}) == [place]
