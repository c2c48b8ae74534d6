"""OpenAI's HTTP API in front of claw: what its clients send and read.

call.py        a request of either API, in one form
content.py     messages of clients -> messages of providers
fields.py      reading JSON, and what an API does not take
chat.py        /v1/chat/completions
responses.py   /v1/responses; with
items.py         its input
events.py        its answer, whole and as events
options.py     what a client asks of a vendor, in the vendor's own words
embeddings.py  /v1/embeddings
errors.py      errors as OpenAI's clients read them
replays.py     what models want to be shown again with their calls
stream.py      an answer as it comes, and the end of it when nobody reads
"""
