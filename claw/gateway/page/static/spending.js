// What models cost, as a plot by day and model.

import { get } from "./api.js";
import { append, el, svg, t } from "./dom.js";

const MEASURES = { cost: "cost_usd", calls: "calls", tokens: "tokens" };
const SPANS = [7, 30, 90];
const COLOURS = 6; // models with one of their own; the seventh is the others
const HEIGHT = 240, LEFT = 62, BOTTOM = 24, TOP = 12;

export async function open(place, signal) {
  const days = choose("days", SPANS.map((one) => [one, String(one)]), 30);
  const measure = choose("measure",
    Object.keys(MEASURES).map((one) => [one, t(one)]), "cost");
  const drawn = el("div", {});
  place.append(el("div", { class: "bar" }, days.label, measure.label), drawn);
  let found;
  function draw() {
    if (found) drawn.replaceChildren(...drawAll(found, measure.select.value,
      place.clientWidth));
  }
  async function look() {
    const asked = await get("spending", { days: days.select.value });
    if (signal.aborted) return;
    found = asked;
    draw();
  }
  days.select.addEventListener("change", look);
  measure.select.addEventListener("change", draw);
  window.addEventListener("resize", draw, { signal });
  await look();
}

function choose(name, values, first) {
  const select = el("select", { id: `choose-${name}` }, values.map(
    ([value, text]) => el("option",
      { value, selected: value === first }, text)));
  return { select, label: el("label", { for: select.id }, t(name), " ", select) };
}

function drawAll(found, measure, width) {
  const nodes = [drawNumbers(found)];
  const sums = sum(found.rows, MEASURES[measure]);
  if (!found.rows.length) {
    nodes.push(el("p", { class: "quiet" }, t("no_calls")));
    return nodes;
  }
  nodes.push(
    drawPlot(found, sums, measure, width), drawLegend(sums, measure),
    el("details", {}, el("summary", {}, t("as_table")),
      drawTable(found, sums, measure)));
  if (found.unpriced.length) {
    nodes.push(el("p", { class: "quiet" },
      t("unpriced", { models: found.unpriced.join(", ") })));
  }
  return nodes;
}

function drawNumbers({ spent }) {
  const numbers = [["today", spent.today_usd, spent.daily_limit_usd],
    ["this_month", spent.month_usd, spent.monthly_limit_usd]];
  return el("div", { class: "numbers" }, numbers.map(([name, used, limit]) =>
    el("div", { class: "card" }, t(name), el("strong", {}, limit
      ? t("of_limit", { spent: dollars(used), limit: dollars(limit) })
      : dollars(used)))));
}

// {days: {day: {model: value}}, models: the dearest first, with "" for others}
function sum(rows, field) {
  const totals = new Map();
  for (const row of rows) {
    totals.set(row.model, (totals.get(row.model) || 0) + (row[field] || 0));
  }
  const order = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const own = order.length > COLOURS + 1 ? order.slice(0, COLOURS) : order;
  const models = own.map((name) => ({ name, total: totals.get(name) }));
  const days = new Map();
  for (const row of rows) {
    const model = own.includes(row.model) ? own.indexOf(row.model) : COLOURS;
    const day = days.get(row.day) || [];
    day[model] = (day[model] || 0) + (row[field] || 0);
    days.set(row.day, day);
  }
  if (own.length < order.length) {
    models.push({ name: t("others"), total: order.slice(COLOURS).reduce(
      (most, name) => most + totals.get(name), 0) });
  }
  return { models, days };
}

function drawPlot(found, { models, days }, measure, width) {
  const dates = listDays(found.since, found.until);
  const most = Math.max(...dates.map((day) => total(days.get(day))));
  const steps = scale(most);
  const top = steps.at(-1) || 1;
  const room = HEIGHT - TOP - BOTTOM;
  const y = (value) => HEIGHT - BOTTOM - value / top * room;
  const step = (width - LEFT) / dates.length;
  const plot = svg("svg", { class: "plot", role: "img",
    viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT,
    "aria-label": t("plot", { measure: t(measure), since: found.since,
      until: found.until }) });
  for (const value of steps) {
    append(plot, [
      svg("line", { x1: LEFT, x2: width, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" },
        format(value, measure))]);
  }
  const labels = Math.max(1, Math.ceil(dates.length / (width / 90)));
  dates.forEach((day, number) => {
    const x = LEFT + number * step;
    let base = 0;
    (days.get(day) || []).forEach((value, model) => {
      if (!value) return;
      append(plot, [svg("rect", { class: `c${model}`, x: x + step * .12,
        width: step * .76, y: y(base + value),
        height: y(base) - y(base + value) },
      svg("title", {},
        `${day}, ${models[model].name}: ${format(value, measure)}`))]);
      base += value;
    });
    if (number % labels === 0) {
      append(plot, [svg("text", { x: x + step / 2, y: HEIGHT - 6,
        "text-anchor": number ? "middle" : "start" }, day.slice(5))]);
    }
  });
  return plot;
}

function drawLegend({ models }, measure) {
  return el("ul", { class: "legend small" }, models.map((model, number) =>
    el("li", {}, svg("svg", { viewBox: "0 0 10 10", "aria-hidden": true },
      svg("rect", { class: `c${number}`, width: 10, height: 10 })),
    `${model.name} ${format(model.total, measure)}`)));
}

function drawTable(found, { models, days }, measure) {
  const rows = listDays(found.since, found.until).filter((day) =>
    days.has(day)).reverse();
  return el("div", { class: "scrolls", tabindex: 0, role: "region",
    "aria-label": t("as_table") },
  el("table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, t("day")),
      models.map((model) =>
        el("th", { scope: "col", class: "number" }, model.name)),
      el("th", { scope: "col", class: "number" }, t("total")))),
    el("tbody", {}, rows.map((day) => el("tr", {},
      el("th", { scope: "row" }, day), models.map((_, number) =>
        el("td", { class: "number" },
          format((days.get(day)[number]) || 0, measure))),
      el("td", { class: "number" },
        format(total(days.get(day)), measure)))))));
}

function total(values = []) {
  return values.reduce((sum, value) => sum + (value || 0), 0);
}

function listDays(since, until) {
  const days = [];
  const last = new Date(until + "T00:00:00Z");
  for (const day = new Date(since + "T00:00:00Z"); day <= last;
    day.setUTCDate(day.getUTCDate() + 1)) {
    days.push(day.toISOString().slice(0, 10));
  }
  return days;
}

// Round values from 0 to the first that is not below the most.
function scale(most) {
  if (!most) return [0];
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [.25, .5, 1, 2.5].map((one) => one * power)
    .find((one) => most / one <= 5);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 },
    (_, number) => number * step);
}

function format(value, measure) {
  return measure === "cost" ? dollars(value)
    : value.toLocaleString([], { notation: "compact" });
}

function dollars(value) {
  if (value == null) return "?";
  const digits = value === 0 || value >= .1 ? 2 : value >= .001 ? 4 : 6;
  return "$" + value.toFixed(digits);
}
