// Memory: search and why, conflicts, undo.

import { get, post } from "./api.js";
import { append, button, el, list, t, when } from "./dom.js";

export async function open(place, signal, say) {
  const told = el("div", { role: "status" });
  const found = el("div", { "aria-live": "polite" });
  const query = el("input", { id: "query", type: "search", class: "wide",
    placeholder: t("search_help"), "aria-label": t("search_memory") });
  const form = el("form", { role: "search", class: "bar" }, query,
    el("button", { type: "submit" }, t("search")));
  const pairs = el("div", { "aria-live": "polite" });

  async function search() {
    const answer = await get("memory", { q: query.value });
    if (!signal.aborted) found.replaceChildren(drawFound(answer, act));
  }
  async function compare() {
    const answer = await get("conflicts");
    if (!signal.aborted) pairs.replaceChildren(drawPairs(answer, act));
  }
  // Change something, say what was done with a way back, and look again.
  async function act(path, body, done, key) {
    try {
      await post(path, body);
      told.replaceChildren(el("p", { class: "card bar" },
        el("span", { class: "wide" }, done),
        key && button(t("undo"), () => act("memory/undo", { key },
          t("is_back", { key })))));
      told.focus();
      await search();
      if (pairs.hasChildNodes()) await compare();
    } catch (error) {
      say(error);
    }
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    search().catch(say);
  });
  told.tabIndex = -1;
  place.append(form, told, found, el("h3", {}, t("conflicts")),
    button(t("find_conflicts"), () => compare().catch(say)), pairs);
  await search();
}

function drawFound({ results, can_undo: canUndo }, act) {
  return list(results.map((one) => [
    drawHead(one),
    el("p", { class: "text" }, one.content),
    el("div", { class: "bar" },
      Object.keys(one.why).length > 0 && drawWhy(one.why),
      canUndo && drawHistory(one, act),
      button(t("forget"), () => act("memory/forget", { key: one.key },
        t("forgotten", { key: one.key }), canUndo && one.key))),
  ]), t("nothing_found"), { class: "cards" });
}

function drawHead(one) {
  return el("div", {}, el("strong", {}, one.key), " ",
    el("span", { class: "quiet small" }, [
      one.category, one.sender && t("from_sender", { name: one.sender }),
      one.origin, one.score != null
        && t("score", { n: Math.round(one.score * 100) }),
    ].filter(Boolean).join(", "), ", ", when(one.updated_at)));
}

function drawWhy(why) {
  return el("details", { class: "wide" }, el("summary", {}, t("why_this")),
    el("table", {}, el("tbody", {}, Object.entries(why).map(
      ([name, value]) => el("tr", {}, el("th", { scope: "row" }, name),
        el("td", { class: "number" }, typeof value === "number"
          ? value.toFixed(3) : value))))));
}

function drawHistory(one, act) {
  const details = el("details", { class: "wide" },
    el("summary", {}, t("history")));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.children.length > 1) return;
    const { versions } = await get("memory/history", { key: one.key })
      .catch(() => ({ versions: [] }));
    append(details, [list(versions.map((version) => [
      el("span", { class: "quiet small" }, when(version.from), " - ",
        version.until ? when(version.until) : t("until_now"), " ",
        version.ended_by || ""),
      el("p", { class: "text" }, version.content)]), t("nothing_found")),
    versions.length > 1 && button(t("undo"), () => act("memory/undo",
      { key: one.key }, t("is_back", { key: one.key })))]);
  });
  return details;
}

function drawPairs({ conflicts }, act) {
  return list(conflicts.map((pair) => {
    const [first, second] = [pair.first, pair.second].map(
      ({ id, key }) => ({ id, key }));
    const keep = (one, other) => button(t("keep_this"), () =>
      act("conflicts/settle", { keep: one, other },
        t("kept", { key: one.key }), other.key));
    return [
      el("p", { class: "quiet small" }, pair.why),
      el("div", { class: "pair" },
        el("div", {}, drawHead(pair.first),
          el("p", { class: "text" }, pair.first.says), keep(first, second)),
        el("div", {}, drawHead(pair.second),
          el("p", { class: "text" }, pair.second.says),
          keep(second, first))),
      button(t("keep_both"), () => act("conflicts/settle",
        { keep: first, other: second, both: true }, t("both_stand"))),
    ];
  }), t("no_conflicts"), { class: "cards" });
}
