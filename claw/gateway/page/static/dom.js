// Elements from plain text. Nothing here reads HTML: a text of a stranger
// is a text.

const words = JSON.parse(document.body.dataset.words);

// A word of the page, its {braces} filled in.
export function t(name, values = {}) {
  if (!(name in words)) throw new Error(`no word ${name}`);
  return words[name].replace(/\{(\w+)\}/g,
    (whole, key) => key in values ? visible(values[key]) : whole);
}

// Characters that turn the direction of a text, or that no screen shows,
// spelled out.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function visible(text) {
  return String(text).replace(HIDDEN, (one) =>
    "\\u" + one.charCodeAt(0).toString(16).padStart(4, "0"));
}

// el("p", {class: "x"}, "text", child): attributes, and "on" + event.
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag),
    attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  append(node, children);
  return node;
}

export function append(node, children) {
  for (const child of [children].flat(Infinity)) {
    if (child == null || child === false) continue;
    node.append(child instanceof Node ? child : visible(child));
  }
}

export function button(label, act, attributes = {}) {
  return el("button", { type: "button", onclick: act, ...attributes }, label);
}

// A list, or a sentence where there is nothing to list.
export function list(items, nothing, attributes = {}) {
  return items.length ? el("ul", attributes, items.map((one) => el("li", {}, one)))
    : el("p", { class: "quiet" }, nothing);
}

export function when(stamp) {
  if (!stamp) return "";
  const moment = new Date(stamp);
  return isNaN(moment) ? visible(stamp)
    : el("time", { datetime: stamp },
      moment.toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
}
