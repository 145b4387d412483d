"use strict";

// Times are sent in UTC; people think in their own zone. The title keeps UTC.
function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const seconds = Math.round((Date.now() - at) / 1000);
    const near = seconds < 60 ? `${Math.max(0, seconds)} s ago` : seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : at.toLocaleString();
    time.textContent = near;
    time.title = `${at.toLocaleString()} here, ${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  }
}

async function renew() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.getElementById("main").replaceChildren(...page.getElementById("main").childNodes);
  localise(document);
  document.querySelectorAll("button[data-method]").forEach(act);
}

async function renewWhenStopped(name) {
  for (;;) {
    const answer = await send("GET", `/connectors/${name}/status`);
    if (!answer.ok || answer.body.connector.state === "STOPPED") break;
    await new Promise((done) => setTimeout(done, 500));
  }
  await renew();
}

function show(parts) {
  const ids = Object.keys(parts.changed);
  if (parts.gone.some((id) => document.getElementById(id)) || ids.some((id) => !document.getElementById(id))) {
    renew();
    return;
  }
  for (const id of ids) {
    const element = document.getElementById(id);
    if (element.contains(document.activeElement) && document.activeElement !== document.body) continue;
    const template = document.createElement("template");
    template.innerHTML = element.tagName === "TR" ? `<table><tbody><tr>${parts.changed[id]}</tr></tbody></table>` : parts.changed[id];
    const found = element.tagName === "TR" ? template.content.querySelector("tr") : template.content;
    localise(found);
    element.replaceChildren(...found.childNodes);
  }
}

function follow(address) {
  const live = document.getElementById("live");
  const events = new EventSource(address);
  events.addEventListener("parts", (event) => { live.textContent = "live"; show(JSON.parse(event.data)); localise(document); });
  events.addEventListener("problem", (event) => { live.textContent = JSON.parse(event.data); });
  events.onerror = () => { live.textContent = "not connected; trying again"; };
}

async function send(method, path, body) {
  const answer = await fetch(path, { method, headers: { "Content-Type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  let found = null;
  try { found = text ? JSON.parse(text) : null; } catch { found = { message: text.slice(0, 500) }; }
  return { ok: answer.ok, status: answer.status, body: found };
}

function say(text, bad) {
  const outcome = document.querySelector(".outcome");
  outcome.hidden = false;
  outcome.classList.toggle("bad", Boolean(bad));
  outcome.textContent = text;
}

function act(button) {
  button.addEventListener("click", async () => {
    if (button.dataset.ask && !confirm(button.dataset.ask)) return;
    const name = encodeURIComponent(button.parentElement.dataset.connector);
    const path = `/connectors/${name}${button.dataset.path ? "/" + button.dataset.path : ""}`;
    button.disabled = true;
    try {
      const answer = await send(button.dataset.method, path);
      if (answer.ok && "again" in button.dataset) await renewWhenStopped(name);
      say(answer.ok ? answer.body?.message ?? `${button.textContent}: done.` : answer.body?.message ?? `${button.textContent}: status ${answer.status}`, !answer.ok);
      if (answer.ok && button.dataset.method === "DELETE" && !button.dataset.path) location.href = "/ui";
    } catch (error) {
      say(`The worker does not answer: ${error.message}`, true);
    } finally {
      button.disabled = false;
    }
  });
}

function list(selector, texts) {
  const section = document.querySelector(selector);
  section.hidden = texts.length === 0;
  section.querySelector("ul").replaceChildren(...texts.map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
}

function differences(before, after) {
  const changed = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (before[key] !== after[key]) changed[key] = key in after ? after[key] : null;
  }
  return changed;
}

function edit(form) {
  const name = form.dataset.name;
  const area = form.querySelector("textarea[name=config]");
  if (!area) return;
  const before = JSON.parse(area.value);
  const parsed = () => {
    const found = JSON.parse(area.value);
    if (found === null || typeof found !== "object" || Array.isArray(found)) throw new Error("it is no object");
    return found;
  };
  const check = async () => {
    let config;
    try { config = parsed(); } catch (error) { list(".findings", [`This is no JSON object: ${error.message}`]); return; }
    const own = name || form.querySelector("#name").value || "new";
    const kind = encodeURIComponent(config["connector.class"] ?? "none");
    const answer = await send("PUT", `/connector-plugins/${kind}/config/validate`, { ...config, name: own });
    const errors = answer.ok ? answer.body.configs.flatMap((one) => one.value.errors) : [answer.body?.message ?? `status ${answer.status}`];
    list(".findings", errors);
    if (name) list(".changes", Object.entries(differences(before, config)).map(([key, value]) => value === null ? `${key}: removed` : `${key}: ${before[key] ?? "not set"} → ${value}`));
  };
  const button = document.querySelector("button.try");
  const trial = document.querySelector(".trial");
  button.addEventListener("click", async () => {
    button.disabled = true;
    trial.textContent = "reading …";
    try {
      const sent = new URLSearchParams({ name: name || form.querySelector("#name").value, config: area.value });
      const answer = await fetch("/ui/sample", { method: "POST", body: sent });
      const text = await answer.text();
      if (answer.headers.get("Content-Type").startsWith("text/html")) trial.innerHTML = text;
      else trial.textContent = JSON.parse(text).message;
    } catch (error) {
      trial.textContent = `The worker does not answer: ${error.message}`;
    } finally {
      button.disabled = false;
    }
  });
  let pending;
  area.addEventListener("input", () => { clearTimeout(pending); pending = setTimeout(() => check().catch((error) => say(error.message, true)), 400); });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    let config;
    try { config = parsed(); } catch (error) { say(`This is no JSON object: ${error.message}`, true); return; }
    const answer = name
      ? await send("PATCH", `/connectors/${encodeURIComponent(name)}/config`, differences(before, config))
      : await send("POST", "/connectors", { name: form.querySelector("#name").value, config });
    if (answer.ok) location.href = `/ui/connectors/${encodeURIComponent(answer.body.name)}`;
    else say(answer.body?.message ?? `status ${answer.status}`, true);
  });
}

localise(document);
document.querySelectorAll("button[data-method]").forEach(act);
document.querySelectorAll("form.config[data-name]").forEach(edit);
if (document.body.dataset.live) follow(document.body.dataset.live);
