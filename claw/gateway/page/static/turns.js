// The turns, and what happened in one.

import { get } from "./api.js";
import { append, button, el, list, t, when } from "./dom.js";

export async function open(place, signal, say, id) {
  if (id) {
    const turn = await get("turn", { id });
    if (!signal.aborted) append(place, drawTurn(turn));
    return;
  }
  const rows = el("ul", { class: "cards" });
  place.append(rows);
  let offset = 0;
  async function more() {
    const { turns, has_more: hasMore } = await get("turns", { offset });
    if (signal.aborted) return;
    offset += turns.length;
    append(rows, turns.map((one) => el("li", {}, drawRow(one))));
    if (!offset) rows.replaceWith(list([], t("no_turns")));
    older.hidden = !hasMore;
  }
  const older = button(t("older"), () => more().catch(say), { hidden: true });
  place.append(older);
  await more();
}

function drawRow(one) {
  return [
    el("a", { href: `#turns/${one.id}` }, one.prompt || one.id.slice(0, 12)),
    el("div", { class: "small quiet" }, drawFacts(one)),
    one.error && el("p", { class: "small mark fail" }, one.error),
  ];
}

function drawFacts(one) {
  return [
    when(one.at), `, ${[one.origin, one.session, one.sender, one.model,
      one.state !== "answered" && one.state,
      one.usage.input_tokens > 0
        && `${one.usage.input_tokens} + ${one.usage.output_tokens || 0} ${t("tokens").toLowerCase()}`,
      one.cost > 0 && `$${one.cost.toFixed(4)}`,
      one.duration_ms != null && `${(one.duration_ms / 1000).toFixed(1)} s`,
    ].filter(Boolean).join(", ")}`,
  ];
}

function drawTurn(turn) {
  return [
    el("p", { class: "small quiet" }, drawFacts(turn)),
    turn.error && el("p", { class: "trouble" }, turn.error),
    drawText(t("question"), turn.question),
    drawText(t("recalled"), turn.before),
    drawText(t("with_it"), turn.under),
    turn.tool_calls.length > 0 && [el("h3", {}, t("tool_calls")),
      list(turn.tool_calls.map((call) => [el("strong", {}, call.name),
        el("pre", {}, call.arguments)]), "", { class: "cards" })],
    turn.labels.length > 0 && drawText(t("foreign"), turn.labels.join(", ")),
    drawText(t("answer"), turn.answer),
    turn.trace.length > 0 && [el("h3", {}, t("what_happened")),
      list(turn.trace, "", { class: "cards small" })],
  ];
}

function drawText(title, text) {
  return text && [el("h3", {}, title), el("p", { class: "text" }, text)];
}
