// A conversation that streams; approvals and questions stand in it.

import { get, lines, post } from "./api.js";
import { append, button, el, t } from "./dom.js";
import { render } from "./markdown.js";

const WAITS_MS = [500, 1000, 2000, 5000];

export async function open(place, signal, say) {
  const log = el("div", { class: "log", role: "log", tabindex: 0,
    "aria-label": t("conversation") });
  const text = el("textarea", { id: "message", rows: 2, required: true,
    "aria-label": t("message"), placeholder: t("enter_sends") });
  const sends = el("button", { type: "submit" }, t("send"));
  const stops = button(t("stop"), () => post("chat/stop").catch(say),
    { hidden: true });
  const anew = button(t("new_chat"), () => post("chat/new").catch(say));
  const form = el("form", { class: "composer" }, text,
    el("div", { class: "bar" }, sends, stops, anew));
  place.append(log, form);
  const view = new Log(log, say, (runs) => {
    sends.disabled = anew.disabled = runs;
    stops.hidden = !runs;
    log.setAttribute("aria-busy", runs);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const message = text.value;
    if (!message.trim() || sends.disabled) return;
    sends.disabled = true;
    try {
      await post("chat/say", { message });
      text.value = "";
    } catch (error) {
      sends.disabled = false;
      say(error);
    }
  });
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  follow(view, signal, say);
}

// Follow the events until the view is left. A line that broke (the phone
// slept, claw was started anew) begins again with what is kept by now.
async function follow(view, signal, say) {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const { messages, running, stream, after } = await get("chat");
      if (failures > 1) say(null);
      failures = 0;
      view.begin(messages, running);
      const path = `page/api/chat/events?stream=${stream}&after=${after}`;
      for await (const event of lines(path, signal)) view.take(event);
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (failures === 1) say(error);
    }
    await new Promise((done) => setTimeout(done,
      WAITS_MS[Math.min(failures, WAITS_MS.length - 1)]));
  }
}

class Log {
  constructor(node, say, setRunning) {
    this.node = node;
    this.say = say;
    this.setRunning = setRunning;
    this.asked = new Map();
  }

  begin(messages, running) {
    this.node.replaceChildren();
    this.asked.clear();
    this.current = this.waiting = null;
    for (const one of messages) {
      if (one.role === "user") this.add("you", one.text);
      else show(this.add("claw", ""), one.text);
    }
    this.setRunning(running);
    goToEnd();
  }

  // A message; the node that its text goes to.
  add(who, text) {
    const body = el("div", { class: "text" }, text);
    this.put(el("article", { class: `card said ${who}` },
      el("span", { class: "who" }, t(who)), body));
    return body;
  }

  put(node) {
    if (this.waiting) this.waiting.before(node);
    else this.node.append(node);
    return node;
  }

  note(text, kind = "quiet") {
    this.put(el("p", { class: `${kind} small` }, text));
  }

  // Who reads further up stays there.
  take(event) {
    const page = document.scrollingElement;
    const follows = event.type === "message" ||
      page.scrollHeight - page.scrollTop - page.clientHeight < 400;
    const take = this[`on_${event.type}`];
    if (take) take.call(this, event);
    if (follows) goToEnd();
  }

  on_message({ text }) {
    this.add("you", text);
    this.waiting = el("p", { class: "quiet busy" }, t("thinking"));
    this.node.append(this.waiting);
    this.setRunning(true);
  }

  on_text({ delta }) {
    if (!this.current) this.current = this.add("claw", "");
    append(this.current, [delta]);
  }

  on_discard() {
    if (this.current) this.current.parentElement.classList.add("quiet");
    this.current = null;
  }

  on_tool_start({ name, arguments: given }) {
    this.put(el("details", { class: "small" },
      el("summary", {}, t("tool_runs", { name })),
      el("pre", {}, JSON.stringify(given, null, 2))));
  }

  on_tool_end({ name, success, output }) {
    this.put(el("details", { class: "small" },
      el("summary", {}, t(success ? "tool_done" : "tool_failed", { name })),
      el("pre", {}, output)));
  }

  on_notice({ text }) {
    this.note(text);
  }

  on_refused({ tool, reason }) {
    this.note(t("decided", { tool, decision: reason || t("no") }));
  }

  on_approval(event) {
    const answers = [["yes", "yes"], ["no", "no"],
      event.may_keep && ["week", "week"]].filter(Boolean);
    this.ask(event, [
      el("h3", {}, t(event.is_file ? "may_change" : "may_run")),
      el("strong", {}, event.tool),
      event.place && el("span", { class: "quiet small" }, " ",
        t("in_place", { place: event.place })),
      el("pre", {}, event.summary),
      event.lines.length > 0 && el("pre", { class: "diff" },
        event.lines.map((line) => el("span", { class: nameLine(line) },
          line + "\n"))),
      el("p", { class: "quiet small" }, event.reason),
    ], answers.map(([word, answer]) => [t(word), answer]), event.tool);
  }

  on_question(event) {
    const field = el("input", { "aria-label": t("answer") });
    const form = el("form", { class: "bar" }, field,
      el("button", { type: "submit" }, t("send")));
    field.classList.add("wide");
    form.addEventListener("submit", (submitted) => {
      submitted.preventDefault();
      if (field.value.trim()) this.answer(event.id, field.value);
    });
    this.ask(event, [el("p", { class: "text" }, event.text), form],
      event.choices.map((choice) => [choice, choice]), t("answer"));
  }

  ask(event, parts, answers, what) {
    const buttons = el("div", { class: "bar" }, answers.map(
      ([word, answer]) => button(word, () => this.answer(event.id, answer))));
    const node = this.put(el("section", { class: "card said ask",
      tabindex: -1, role: "alertdialog", "aria-label": what },
    parts, buttons));
    this.asked.set(event.id, { node, what });
    node.focus();
  }

  answer(id, answer) {
    post("chat/answer", { id, answer }).catch(this.say);
  }

  on_answered({ id, answer }) {
    const found = this.asked.get(id);
    if (!found) return;
    this.asked.delete(id);
    found.node.replaceWith(el("p", { class: "quiet small" },
      t("decided", { tool: found.what, decision: answer || t("no") })));
  }

  on_answer(event) {
    if (!this.current) this.current = this.add("claw", "");
    show(this.current, event.text);
    append(this.current.parentElement, [el("p", { class: "small quiet" },
      t("took", { seconds: (event.duration_ms / 1000).toFixed(1),
        model: event.model || event.provider }), " ",
      el("a", { href: `#turns/${event.turn}` }, t("why")))]);
    this.end();
  }

  on_error({ message, hint }) {
    this.note(hint ? `${message} (${hint})` : message, "trouble");
    this.end();
  }

  on_new() {
    this.begin([], false);
  }

  end() {
    if (this.waiting) this.waiting.remove();
    this.waiting = this.current = null;
    this.setRunning(false);
  }
}

function goToEnd() {
  document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
}

// A whole answer; while it streams its text stands there as it comes.
function show(body, text) {
  body.className = "rich";
  body.replaceChildren(...render(text));
}

function nameLine(line) {
  return { "+": "added", "-": "removed" }[line[0]] || "";
}
