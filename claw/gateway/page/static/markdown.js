// The Markdown of an answer as elements. No HTML is read, nothing is fetched,
// and a link shows the address that it leads to. No pattern here can take
// more than a line's length.

import { el } from "./dom.js";

const INLINE = new RegExp([
  "`([^`]+)`", "\\*\\*([^*]+)\\*\\*", "\\*([^*\\s][^*]*)\\*",
  "\\[([^\\[\\]]+)\\]\\((https?:/{2}[^\\s()\\[\\]]+)\\)",
  "(https?:/{2}[^\\s()\\[\\]<>\"'*`]*[\\w/])"].join("|"), "g");
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^#{1,6}\s+(.*)/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)/;
const QUOTE = /^\s*>\s?(.*)/;
const ROW = /^\s*\|(.*)\|\s*$/;
const BLOCKS = [FENCE, HEADING, ITEM, QUOTE, ROW, /^\s*$/];

export function render(text) {
  const lines = String(text).split(/\r?\n/);
  const blocks = [];
  let at = 0;
  // The lines from here on for which it holds.
  function take(holds) {
    const from = at;
    while (at < lines.length && holds(lines[at])) at += 1;
    return lines.slice(from, at);
  }
  while (at < lines.length) {
    const line = lines[at];
    if (FENCE.test(line)) {
      at += 1;
      const code = take((one) => !FENCE.test(one));
      at += 1;
      blocks.push(el("pre", {}, el("code", {}, code.join("\n"))));
    } else if (HEADING.test(line)) {
      at += 1;
      blocks.push(el("p", {}, el("strong", {},
        drawInline(line.match(HEADING)[1]))));
    } else if (ITEM.test(line)) {
      blocks.push(drawList(take((one) => ITEM.test(one))));
    } else if (QUOTE.test(line)) {
      blocks.push(el("blockquote", {}, drawInline(
        take((one) => QUOTE.test(one))
          .map((one) => one.match(QUOTE)[1]).join("\n"))));
    } else if (ROW.test(line)) {
      blocks.push(drawTable(take((one) => ROW.test(one))));
    } else if (!line.trim()) {
      at += 1;
    } else {
      blocks.push(el("p", {}, drawInline(take((one) =>
        !BLOCKS.some((kind) => kind.test(one))).join("\n"))));
    }
  }
  return blocks;
}

function drawInline(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, strong, emphasis, label, target, bare] = found;
    parts.push(text.slice(end, found.index));
    end = found.index + whole.length;
    parts.push(code ? el("code", {}, code)
      : strong ? el("strong", {}, strong)
      : emphasis ? el("em", {}, emphasis)
      : target ? [`${label} (`, drawLink(target), ")"] : drawLink(bare));
  }
  return [parts, text.slice(end)];
}

function drawLink(url) {
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer" },
    url);
}

// Numbers stand as they were written; what is indented is so by one step.
function drawList(lines) {
  return el("ul", {}, lines.map((line) => {
    const [, space, number, text] = line.match(ITEM);
    return el("li", { class: space.length > 1 ? "deep" : null },
      number ? `${number}. ` : "• ", drawInline(text));
  }));
}

function drawTable(lines) {
  const rows = lines.filter((line) => !/^[\s|:-]*$/.test(line));
  return el("div", { class: "scrolls", tabindex: 0 }, el("table", {},
    rows.map((line, at) => el("tr", {},
      line.match(ROW)[1].split("|").map((cell) =>
        el(at ? "td" : "th", {}, drawInline(cell.trim())))))));
}
