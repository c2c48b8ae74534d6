// Signing in, and which view is shown.

import { load, send } from "./api.js";
import { el, t } from "./dom.js";
import * as chat from "./chat.js";
import * as status from "./status.js";
import * as memory from "./memory.js";
import * as spending from "./spending.js";
import * as turns from "./turns.js";

const VIEWS = { chat, status, memory, spending, turns };
const view = document.getElementById("view");
const trouble = document.getElementById("trouble");
const form = document.getElementById("sign-in");
const code = document.getElementById("code");
const nav = document.querySelector("nav");
const signOut = document.getElementById("sign-out");

let leave = () => {};

// A sentence above what is shown; null takes it away.
function tell(text) {
  trouble.textContent = text;
  trouble.hidden = text === null;
}

// Say what went wrong; null: it is well again.
function say(error) {
  if (error?.name === "AbortError" || error?.status === 401) return;
  tell(error && (error.status === 0 ? t("unreachable")
    : t("failed", { why: error.message })));
}

async function show(moves) {
  const [name, detail] = location.hash.slice(1).split("/");
  if (name === "main") return;
  const shown = name in VIEWS ? name : Object.keys(VIEWS)[0];
  for (const link of nav.children) {
    if (link.hash === "#" + shown) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  leave();
  say(null);
  form.hidden = true;
  nav.hidden = signOut.hidden = false;
  document.title = `${t(shown)} - ${t("title")}`;
  const place = el("section", { "aria-labelledby": "heading" },
    el("h2", { id: "heading", tabindex: -1 }, t(shown)));
  view.replaceChildren(place);
  const ending = new AbortController();
  leave = () => ending.abort();
  if (moves) document.getElementById("heading").focus();
  try {
    await VIEWS[shown].open(place, ending.signal, say, detail);
  } catch (error) {
    say(error);
  }
}

function askWho() {
  leave();
  view.replaceChildren();
  nav.hidden = signOut.hidden = true;
  form.hidden = false;
  code.focus();
}

function signedOut() {
  askWho();
  tell(t("signed_out"));
}

function refuse(error) {
  tell(error.status === 0 ? t("unreachable")
    : t("sign_in_refused", { why: error.message }));
}

async function signIn(text) {
  let token = text.trim();
  if (!token.startsWith("zc_") && token.length <= 64) {
    const made = await send("pair", { device_name: "browser" },
      { "X-Pairing-Code": token.replace(/[^\w-]/g, "") });
    token = made.token;
  }
  await send("page/login", { token });
  code.value = "";
  await show(true);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await signIn(code.value);
  } catch (error) {
    refuse(error);
  }
});

signOut.addEventListener("click", async () => {
  try {
    await send("page/logout", {});
  } catch (error) {
    say(error);
    return;
  }
  signedOut();
});

document.addEventListener("signed-out", signedOut);
window.addEventListener("hashchange",
  () => form.hidden ? show(true) : start());
start();

// A link of the terminal brings the code with it; it is good once.
async function start() {
  const brought = /^#code=([\w-]{1,64})$/.exec(location.hash);
  try {
    if (brought) {
      history.replaceState(null, "", location.pathname);
      await signIn(brought[1]);
    } else if ((await load("page/session")).signed_in) {
      await show(false);
    } else {
      askWho();
    }
  } catch (error) {
    askWho();
    refuse(error);
  }
}
