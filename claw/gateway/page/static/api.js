// What the page asks of the gateway. The cookie says who asks; the header
// says that it is this page.

const HEADERS = { "X-Claw-Page": "1" };

export class Failure extends Error {
  constructor(status, message, hint) {
    super(hint ? `${message} (${hint})` : message);
    this.status = status;
  }
}

export function get(name, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return load(`page/api/${name}${query ? "?" + query : ""}`);
}

export function post(name, body = {}) {
  return send(`page/api/${name}`, body);
}

export function send(path, body, headers = {}) {
  return call(path, {
    method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...headers },
  });
}

export function load(path) {
  return call(path, {});
}

async function call(path, options) {
  const answer = await ask(path, options);
  return await answer.json();
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, {
      ...options, headers: { ...HEADERS, ...options.headers },
      credentials: "same-origin", redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  if (answer.status === 401) {
    document.dispatchEvent(new Event("signed-out"));
  }
  throw new Failure(answer.status, said.error || answer.statusText, said.hint);
}

// Each line of a stream as JSON, until it ends.
export async function* lines(path, signal) {
  const answer = await ask(path, { signal });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const found = (text + value).split("\n");
    text = found.pop();
    for (const line of found) if (line) yield JSON.parse(line);
  }
}
