"""Serve a GGUF file with llama.cpp on 127.0.0.1 until killed.

    python serve_gguf.py FILE PORT CONTEXT_TOKENS
"""

import sys
import time

import xllamacpp


def main(path, port, context):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_ctx = context
    parameters.n_parallel = 1
    parameters.n_predict = 24
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.cpuparams.n_threads = 1
    parameters.use_jinja = True
    server = xllamacpp.Server(parameters)
    time.sleep(3600)
    del server


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
