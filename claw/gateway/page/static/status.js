// How claw is: channels, queue, last errors, and every finding.

import { get, post } from "./api.js";
import { button, el, list, t, when } from "./dom.js";

const EVERY_MS = 10000;
const MARKS = { ok: "ok", warn: "warn", fail: "fail", skip: "skipped" };

export async function open(place, signal, say) {
  const found = el("div", { "aria-busy": true });
  const asked = el("div", { "aria-live": "polite" });
  place.append(found);
  async function look() {
    const [status, queue] = await Promise.all([get("status"), get("queue")]);
    if (signal.aborted) return;
    found.replaceChildren(...draw(status, queue, asked, say));
    found.removeAttribute("aria-busy");
  }
  await look();
  const timer = setInterval(() => {
    // Nothing moves under the hand of who reads or presses here.
    if (!document.hidden && !found.contains(document.activeElement)) {
      look().catch(say);
    }
  }, EVERY_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function draw(status, queue, asked, say) {
  const rest = status.checks.filter((one) =>
    one.group !== "channels" && one.group !== "error");
  const errors = status.checks.filter((one) => one.group === "error");
  return [
    drawVerdict(status),
    el("h3", {}, t("channels")),
    drawChecks(status.checks.filter((one) => one.group === "channels"),
      t("no_channels")),
    drawDoctor(asked, say), asked,
    el("h3", {}, t("queue")),
    list([...queue.inbox.map((row) => drawRow(t("incoming"), row, row.sender)),
      ...queue.outbox.map((row) =>
        drawRow(t("outgoing"), row, row.recipient))],
    t("queue_empty"), { class: "cards" }),
    el("h3", {}, t("last_errors")), drawChecks(errors, t("no_errors")),
    el("h3", {}, t("parts")), drawChecks(rest, ""),
  ];
}

function drawVerdict(status) {
  const count = (wanted) =>
    status.checks.filter((one) => one.status === wanted).length;
  const [bad, odd] = [count("fail"), count("warn")];
  const words = [bad && t("failures", { n: bad }),
    odd && t("warnings", { n: odd })].filter(Boolean);
  const mark = bad ? "fail" : odd ? "warn" : "ok";
  return el("div", { class: "card", role: "status" },
    el("p", { class: `verdict mark ${mark}` },
      words.join(", ") || t("all_well")),
    el("span", { class: "small quiet" }, when(status.at)));
}

function drawChecks(checks, nothing) {
  return list(checks.map((one) => [
    el("span", { class: `mark ${one.status}` }, t(MARKS[one.status])),
    el("strong", {}, nameCheck(one)), ": ", one.detail,
    one.hint && one.status !== "ok"
      && el("code", { class: "hint" }, one.hint),
  ]), nothing, { class: "card lines" });
}

function nameCheck(one) {
  return one.group === "channels"
    ? one.id.split(".").slice(1).join(" ") : one.id;
}

function drawDoctor(asked, say) {
  const act = button(t("ask_doctor"), async () => {
    act.disabled = true;
    asked.replaceChildren(el("p", { class: "quiet busy" }, t("doctor_asks")));
    try {
      const { checks } = await post("doctor");
      asked.replaceChildren(el("h3", {}, t("doctor_says")),
        drawChecks(checks, t("no_channels")));
    } catch (error) {
      asked.replaceChildren();
      say(error);
    }
    act.disabled = false;
  });
  return act;
}

function drawRow(way, row, who) {
  return [
    el("span", { class: `mark ${row.state === "failed" ? "fail" : "skip"}` },
      `${way}, ${row.state}`),
    el("strong", {}, `${row.channel} ${who}`),
    el("p", { class: "text" }, row.text),
    row.why && el("span", { class: "hint" }, row.why),
  ];
}
