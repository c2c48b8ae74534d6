"""Everything that claw serves over HTTP.

endpoint.py    one row of the route table, and what a handler is given
app.py         the ASGI application: routes, checks, limits, access log
gateway.py     opening it, opening it anew, and the rows of channels
server.py      listening, and its end; with
connection.py    one connection: deadlines and limits of a stranger
room.py          who may hold how many connections
settings.py    the table [gateway]
guard.py       Host, Origin, and whose address it is
limits.py      sliding windows
idempotency.py answers that a repeated request gets again
events.py      what happens, as a stream
openai/        OpenAI's API
keys.py        bearer keys and pairing codes, kept as hashes
page/          what its owner sees in a browser
pairing.py     POST /pair
webhooks.py    what platforms post to channels
health.py      GET /health
metrics.py     GET /metrics
"""
